import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.AppConfigurationEntry.LoginModuleControlFlag;
import javax.security.auth.login.Configuration;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.ClientInfo;
import org.apache.zookeeper.data.Id;

/**
 * Clients that prove their names by SASL, on one server: JavaSasl ADDRESS. Each client is one line of
 * the output: its name, what it hears of its authentication, and what it may do.
 */
public class JavaSasl {
    static final long PATIENCE = 60; // seconds, on a busy machine

    /** The login of a client is in the section of its name. */
    static class Logins extends Configuration {
        final Map<String, Map<String, String>> sections;

        Logins(Map<String, Map<String, String>> sections) {
            this.sections = sections;
        }

        @Override
        public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
            Map<String, String> options = sections.get(name);
            if (options == null) {
                return null;
            }
            return new AppConfigurationEntry[] {new AppConfigurationEntry(
                    "org.apache.zookeeper.server.auth.DigestLoginModule", LoginModuleControlFlag.REQUIRED, options)};
        }
    }

    static Map<String, String> login(String user, String password) {
        return Map.of("username", user, "password", password);
    }

    /** Connects, and returns what the client hears until it is in or not. */
    static String connect(String address, String section, ZooKeeper[] into) throws Exception {
        BlockingQueue<KeeperState> heard = new LinkedBlockingQueue<>();
        ZKClientConfig config = new ZKClientConfig();
        config.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, String.valueOf(section != null));
        if (section != null) {
            config.setProperty(ZKClientConfig.LOGIN_CONTEXT_NAME_KEY, section);
        }
        into[0] = new ZooKeeper(address, 30_000, event -> heard.add(event.getState()), config);
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < 3; i++) {
            KeeperState state = heard.poll(PATIENCE, TimeUnit.SECONDS);
            all.append(state).append(' ');
            if (state == null || state == KeeperState.SaslAuthenticated || state == KeeperState.AuthFailed || section == null) {
                break;
            }
        }
        return all.toString();
    }

    interface Call {
        void make() throws Exception;
    }

    static String outcome(String what, Call call) throws Exception {
        try {
            call.make();
            return " " + what;
        } catch (KeeperException e) {
            return " " + what + ":" + e.code();
        }
    }

    static void client(String address, String name, String section) throws Exception {
        ZooKeeper[] into = new ZooKeeper[1];
        String heard = connect(address, section, into);
        ZooKeeper zk = into[0];
        StringBuilder line = new StringBuilder(name + ": " + heard);
        line.append(outcome("who", () -> {
            TreeSet<String> ids = new TreeSet<>();
            List<ClientInfo> infos = zk.whoAmI(); // null without an answer
            for (ClientInfo info : infos == null ? Collections.<ClientInfo>emptyList() : infos) {
                ids.add(info.getAuthScheme() + "=" + info.getUser());
            }
            line.append(ids);
        }));
        List<ACL> own = Collections.singletonList(new ACL(Perms.ALL, new Id("sasl", "bob")));
        byte[] data = "x".getBytes(StandardCharsets.UTF_8);
        line.append(outcome("create", () -> zk.create("/bob", data, own, CreateMode.PERSISTENT)));
        line.append(outcome("get", () -> zk.getData("/bob", false, null)));
        line.append(outcome("auth", () -> zk.create("/auth-", data,
                Collections.singletonList(new ACL(Perms.ALL, new Id("auth", ""))), CreateMode.EPHEMERAL_SEQUENTIAL)));
        zk.close();
        System.out.println(line);
    }

    public static void main(String[] args) throws Exception {
        Configuration.setConfiguration(new Logins(Map.of(
                "Known", login("bob", "bobs"), "Super", login("super", "super_secret"),
                "Wide", login("wide", "p\u00e4ssw\u00f6rd"), "Wider", login("wider", "p\u00e4ssw\u00f6rd\u20ac"),
                "Wrong", login("bob", "alices"), "Unknown", login("eve", "eves"))));
        client(args[0], "known", "Known");
        client(args[0], "nobody", null);
        client(args[0], "super", "Super");
        client(args[0], "wide", "Wide");
        client(args[0], "wider", "Wider");
        client(args[0], "wrong", "Wrong");
        client(args[0], "unknown", "Unknown");
    }
}
