import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ClientInfo;
import org.apache.zookeeper.data.Stat;

/**
 * The calls that ZooKeeper's own client has had since version 3.5, on one server: JavaCalls ADDRESS. Each call is
 * one line of the output: "ok" and its name, or "failed", its name and why. The server has to look for nodes that go
 * by themselves several times a second.
 */
public class JavaCalls {
    static final long PATIENCE = 60_000; // milliseconds, on a busy machine

    interface Call {
        void with(ZooKeeper zk) throws Exception;
    }

    static ZooKeeper connect(String address) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper zk = new ZooKeeper(address, 30_000, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        check(connected.await(PATIENCE, TimeUnit.MILLISECONDS), "no connection");
        return zk;
    }

    static void check(boolean ok, String what) {
        if (!ok) {
            throw new IllegalStateException(what);
        }
    }

    static void same(Object got, Object want) {
        check(got.equals(want), got + ", want " + want);
    }

    static String create(ZooKeeper zk, String path, CreateMode mode) throws Exception {
        return zk.create(path, "x".getBytes(StandardCharsets.UTF_8), Ids.OPEN_ACL_UNSAFE, mode);
    }

    static List<String> sorted(List<String> list) {
        List<String> all = new ArrayList<>(list);
        Collections.sort(all);
        return all;
    }

    /** Events as "type path", in the order in which they came. */
    static class Events implements Watcher {
        final BlockingQueue<String> queue = new LinkedBlockingQueue<>();

        @Override
        public void process(org.apache.zookeeper.WatchedEvent event) {
            queue.add(event.getType() + " " + event.getPath());
        }

        void want(String... events) throws Exception {
            for (String want : events) {
                same(String.valueOf(queue.poll(PATIENCE, TimeUnit.MILLISECONDS)), want);
            }
        }
    }

    static void ephemerals(ZooKeeper zk) throws Exception {
        create(zk, "/e", CreateMode.PERSISTENT);
        create(zk, "/e/a", CreateMode.EPHEMERAL);
        create(zk, "/e/b", CreateMode.PERSISTENT);
        create(zk, "/ee", CreateMode.EPHEMERAL);
        same(sorted(zk.getEphemerals()), Arrays.asList("/e/a", "/ee"));
        same(sorted(zk.getEphemerals("/e")), Arrays.asList("/e/a", "/ee"));
        same(zk.getEphemerals("/e/a"), Arrays.asList("/e/a"));
        same(zk.getEphemerals("/none"), Collections.emptyList());
        zk.delete("/ee", -1);
        same(zk.getEphemerals("/"), Arrays.asList("/e/a"));
    }

    static void count(ZooKeeper zk) throws Exception {
        create(zk, "/c", CreateMode.PERSISTENT);
        same(zk.getAllChildrenNumber("/c"), 0);
        create(zk, "/c/a", CreateMode.PERSISTENT);
        create(zk, "/c/a/b", CreateMode.PERSISTENT);
        create(zk, "/cc", CreateMode.PERSISTENT);
        same(zk.getAllChildrenNumber("/c"), 2);
        same(zk.getAllChildrenNumber("/c/a"), 1);
        int all = zk.getAllChildrenNumber("/");
        zk.delete("/cc", -1);
        same(zk.getAllChildrenNumber("/"), all - 1);
        try {
            zk.getAllChildrenNumber("/none");
            check(false, "a number for no node");
        } catch (KeeperException.NoNodeException e) {
            same(e.getPath(), "/none");
        }
    }

    static void reads(ZooKeeper zk) throws Exception {
        create(zk, "/r", CreateMode.PERSISTENT);
        create(zk, "/r/a", CreateMode.PERSISTENT);
        List<OpResult> all = zk.multi(Arrays.asList(
                Op.getData("/r/a"), Op.getChildren("/r"), Op.getData("/none"), Op.getChildren("/r/a")));
        same(all.size(), 4);
        OpResult.GetDataResult data = (OpResult.GetDataResult) all.get(0);
        same(new String(data.getData(), StandardCharsets.UTF_8), "x");
        same(data.getStat(), zk.exists("/r/a", false));
        same(((OpResult.GetChildrenResult) all.get(1)).getChildren(), Arrays.asList("a"));
        same(((OpResult.ErrorResult) all.get(2)).getErr(), KeeperException.Code.NONODE.intValue());
        same(((OpResult.GetChildrenResult) all.get(3)).getChildren(), Collections.emptyList());
    }

    static void who(ZooKeeper zk) throws Exception {
        List<ClientInfo> before = zk.whoAmI();
        same(before.size(), 1);
        same(before.get(0).getAuthScheme() + " " + before.get(0).getUser(), "ip 127.0.0.1");
        zk.addAuthInfo("digest", "me:secret".getBytes(StandardCharsets.UTF_8));
        List<String> all = new ArrayList<>();
        for (ClientInfo info : zk.whoAmI()) {
            all.add(info.getAuthScheme() + " " + info.getUser());
        }
        same(sorted(all), Arrays.asList("digest me", "ip 127.0.0.1"));
    }

    static void watches(ZooKeeper zk) throws Exception {
        create(zk, "/w", CreateMode.PERSISTENT);
        create(zk, "/v", CreateMode.PERSISTENT);
        Events one = new Events();
        Events below = new Events();
        zk.addWatch("/w", one, AddWatchMode.PERSISTENT);
        zk.addWatch("/v", below, AddWatchMode.PERSISTENT_RECURSIVE);
        for (String top : Arrays.asList("/w", "/v")) {
            zk.setData(top, null, -1);
            zk.setData(top, null, -1);
            create(zk, top + "/a", CreateMode.PERSISTENT);
            create(zk, top + "/a/b", CreateMode.EPHEMERAL);
            zk.setData(top + "/a", null, -1);
            zk.delete(top + "/a/b", -1);
            zk.delete(top + "/a", -1);
            zk.delete(top, -1);
        }
        one.want("NodeDataChanged /w", "NodeDataChanged /w", "NodeChildrenChanged /w", "NodeChildrenChanged /w",
                "NodeDeleted /w");
        below.want("NodeDataChanged /v", "NodeDataChanged /v", "NodeCreated /v/a", "NodeCreated /v/a/b",
                "NodeDataChanged /v/a", "NodeDeleted /v/a/b", "NodeDeleted /v/a", "NodeDeleted /v");
        create(zk, "/w", CreateMode.PERSISTENT); // they stay for the next node of that path
        create(zk, "/v", CreateMode.PERSISTENT);
        one.want("NodeCreated /w");
        below.want("NodeCreated /v");
    }

    static void unwatch(ZooKeeper zk) throws Exception {
        create(zk, "/u", CreateMode.PERSISTENT);
        Events lasting = new Events();
        Events once = new Events();
        zk.addWatch("/u", lasting, AddWatchMode.PERSISTENT);
        zk.setData("/u", null, -1);
        zk.removeWatches("/u", lasting, Watcher.WatcherType.Any, false);
        create(zk, "/u/a", CreateMode.PERSISTENT);
        lasting.want("NodeDataChanged /u", "PersistentWatchRemoved /u");
        zk.getData("/u", once, null);
        zk.getChildren("/u", once);
        zk.removeWatches("/u", once, Watcher.WatcherType.Data, false);
        once.want("DataWatchRemoved /u");
        zk.removeAllWatches("/u", Watcher.WatcherType.Children, false);
        once.want("ChildWatchRemoved /u");
        create(zk, "/u/b", CreateMode.PERSISTENT);
        zk.setData("/u", null, -1);
        try {
            zk.removeAllWatches("/u", Watcher.WatcherType.Any, false);
            check(false, "a watch is left");
        } catch (KeeperException.NoWatcherException e) {
            same(e.getPath(), "/u");
        }
        check(lasting.queue.isEmpty() && once.queue.isEmpty(), "events: " + lasting.queue + once.queue);
    }

    static void kinds(ZooKeeper zk) throws Exception {
        Stat stat = new Stat();
        same(zk.create("/k", null, Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER, stat), "/k");
        same(stat, zk.exists("/k", false));
        same(zk.create("/t", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_WITH_TTL, stat, 200), "/t");
        check(stat.getCzxid() > 0 && stat.getCtime() > 0, "no Stat");
        String numbered = zk.create("/t-", null, Ids.OPEN_ACL_UNSAFE,
                CreateMode.PERSISTENT_SEQUENTIAL_WITH_TTL, stat, 200);
        check(numbered.matches("/t-[0-9]{10}"), numbered);
        create(zk, "/k/a", CreateMode.PERSISTENT);
        zk.delete("/k/a", -1);
        for (String path : Arrays.asList("/k", "/t", numbered)) {
            for (long end = System.currentTimeMillis() + PATIENCE; zk.exists(path, false) != null; Thread.sleep(20)) {
                check(System.currentTimeMillis() < end, path + " does not go");
            }
        }
        create(zk, "/kept", CreateMode.CONTAINER); // it has never had a child
        Thread.sleep(1000);
        check(zk.exists("/kept", false) != null, "a new container goes");
        try {
            zk.create("/never", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_WITH_TTL, stat, 1L << 40);
            check(false, "a time to live of 35 years");
        } catch (KeeperException.BadArgumentsException | IllegalArgumentException e) {
            check(zk.exists("/never", false) == null, "it is there");
        }
    }

    static void call(String name, String address, Call call) throws Exception {
        try (ZooKeeper zk = connect(address)) {
            call.with(zk);
            System.out.println("ok " + name);
        } catch (Exception e) {
            e.printStackTrace();
            System.out.println("failed " + name + ": " + e);
        }
    }

    public static void main(String[] args) throws Exception {
        call("getEphemerals", args[0], JavaCalls::ephemerals);
        call("getAllChildrenNumber", args[0], JavaCalls::count);
        call("multi of reads", args[0], JavaCalls::reads);
        call("whoAmI", args[0], JavaCalls::who);
        call("addWatch", args[0], JavaCalls::watches);
        call("removeWatches", args[0], JavaCalls::unwatch);
        call("containers and times to live", args[0], JavaCalls::kinds);
    }
}
