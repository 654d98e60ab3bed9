# Reads what go test -race printed, and prints the packages whose process the race detector's runtime ended. Exits with 1 if there is any
# other failure, or none at all.
#
# All goroutines of one synctest bubble that find a timer due share one context of the detector, which is not made for that: its runtime
# may stop the process, whatever the test does (golang/go#78156, Go 1.26).
/^ThreadSanitizer: CHECK failed: tsan_/ { crash = 1 }
/^(--- FAIL|panic:|fatal error:|WARNING: DATA RACE)/ { other = 1 }
/^FAIL\t/ {
	if (crash) {
		print $2
		crashes++
	} else {
		other = 1
	}
}
/^(ok|FAIL|\?)[ \t]/ { crash = 0 }
END { exit other || !crashes }
