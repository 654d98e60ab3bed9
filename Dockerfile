# The command zksync in an image with nothing else but the certificate authorities.
#
#   docker build -t zksync .        from this source
#
# The target "released" takes binaries that are built already, for .github/workflows/release.yml.
FROM --platform=$BUILDPLATFORM golang:1.26 AS go

FROM go AS build
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -buildvcs=false -trimpath -ldflags="-s -w" -o /zksync ./cmd/zksync

FROM scratch AS base
COPY --from=go /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
USER 65532:65532
ENTRYPOINT ["/zksync"]

FROM base AS released
ARG TARGETARCH
COPY --from=binaries linux_${TARGETARCH}/zksync /zksync

FROM base
COPY --from=build /zksync /zksync
