import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.framework.recipes.watch.PersistentWatcher;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.Stat;

/** What the recipes stand on. */
class FrameworkChecks extends Recipes {
    static void transactionIsAllOrNothing(Site s) throws Exception {
        CuratorFramework a = s.client();
        a.create().creatingParentsIfNeeded().forPath(s.path);
        List<CuratorTransactionResult> results = a.transaction().forOperations(
            a.transactionOp().create().withMode(CreateMode.PERSISTENT_SEQUENTIAL).forPath(s.path + "/n-", "1".getBytes()),
            a.transactionOp().setData().withVersion(0).forPath(s.path, "2".getBytes()),
            a.transactionOp().check().withVersion(1).forPath(s.path));
        same(s.path + "/n-0000000000", results.get(0).getResultPath());
        same(1, results.get(1).getResultStat().getVersion());
        try {
            a.transaction().forOperations(a.transactionOp().create().forPath(s.path + "/x"),
                a.transactionOp().delete().forPath(s.path + "/none"));
            check(false, "it succeeds");
        } catch (KeeperException.NoNodeException e) {
            same(Arrays.asList(0, -101), Arrays.asList(e.getResults().get(0), e.getResults().get(1)).stream()
                .map(r -> ((org.apache.zookeeper.OpResult.ErrorResult) r).getErr()).collect(java.util.stream.Collectors.toList()));
        }
        check(a.checkExists().forPath(s.path + "/x") == null, "half of it is done");
    }

    static void protectedCreateIsFound(Site s) throws Exception {
        CuratorFramework a = s.client();
        String path = a.create().creatingParentContainersIfNeeded().withProtection().withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
            .forPath(s.path + "/x-", "data".getBytes());
        check(path.startsWith(s.path + "/_c_"), path);
        Stat stat = new Stat();
        a.getData().storingStatIn(stat).forPath(path);
        same(a.getZookeeperClient().getZooKeeper().getSessionId(), stat.getEphemeralOwner());
    }

    static void aclKeepsOthersOut(Site s) throws Exception {
        CuratorFramework a = s.client("me:secret");
        a.create().creatingParentsIfNeeded().withACL(ZooDefs.Ids.CREATOR_ALL_ACL).forPath(s.path, "data".getBytes());
        same("data", new String(a.getData().forPath(s.path)));
        same("digest", a.getACL().forPath(s.path).get(0).getId().getScheme());
        try {
            s.client("me:wrong").getData().forPath(s.path);
            check(false, "somebody else reads it");
        } catch (KeeperException.NoAuthException e) {
            same(s.path, e.getPath());
        }
        a.setACL().withACL(ZooDefs.Ids.OPEN_ACL_UNSAFE).forPath(s.path);
        same("data", new String(s.client().getData().forPath(s.path)));
    }

    static void watcherFiresOnce(Site s) throws Exception {
        CuratorFramework a = s.client();
        a.create().creatingParentsIfNeeded().forPath(s.path);
        BlockingQueue<WatchedEvent> events = new LinkedBlockingQueue<>();
        a.getData().usingWatcher((Watcher) events::add).forPath(s.path);
        CuratorFramework b = s.client();
        b.setData().forPath(s.path, "1".getBytes());
        b.setData().forPath(s.path, "2".getBytes());
        same(Watcher.Event.EventType.NodeDataChanged, next(events).getType());
        a.sync().forPath(s.path);
        a.getData().forPath(s.path);
        check(events.isEmpty(), "it fires twice");
    }

    static void lastingWatchIsRemoved(Site s) throws Exception {
        CuratorFramework a = s.client();
        a.create().creatingParentsIfNeeded().forPath(s.path);
        BlockingQueue<WatchedEvent> events = new LinkedBlockingQueue<>();
        Watcher watcher = events::add;
        a.watchers().add().withMode(AddWatchMode.PERSISTENT_RECURSIVE).usingWatcher(watcher).forPath(s.path);
        CuratorFramework b = s.client();
        b.create().forPath(s.path + "/x");
        b.create().forPath(s.path + "/x/y");
        same(s.path + "/x", next(events).getPath());
        same(s.path + "/x/y", next(events).getPath());
        a.watchers().remove(watcher).ofType(Watcher.WatcherType.Any).forPath(s.path);
        eventually("it is told of the removal", () -> {
            WatchedEvent e = events.poll();
            return e != null && e.getType() == Watcher.Event.EventType.PersistentWatchRemoved;
        });
        b.create().forPath(s.path + "/z");
        a.sync().forPath(s.path);
        a.getChildren().forPath(s.path);
        check(events.isEmpty(), "it fires after that");
    }

    static void persistentWatcherOutlivesTheSession(Site s) throws Exception {
        CuratorFramework a = s.client();
        CuratorFramework b = s.client();
        b.create().creatingParentsIfNeeded().forPath(s.path);
        BlockingQueue<String> paths = new LinkedBlockingQueue<>();
        PersistentWatcher watcher = s.keep(new PersistentWatcher(a, s.path, true));
        CountDownLatch again = new CountDownLatch(2);
        watcher.getResetListenable().addListener(again::countDown);
        watcher.getListenable().addListener(e -> {
            if (e.getPath() != null) {
                paths.add(e.getPath());
            }
        });
        watcher.start();
        eventually("it watches", () -> again.getCount() == 1);
        expire(a);
        await(again, "it watches again");
        b.create().forPath(s.path + "/x");
        same(s.path + "/x", next(paths));
    }

    static void backgroundCallsAnswer(Site s) throws Exception {
        CuratorFramework a = s.client();
        BlockingQueue<CuratorEvent> events = new LinkedBlockingQueue<>();
        a.create().creatingParentsIfNeeded().inBackground((c, e) -> events.add(e)).forPath(s.path, "data".getBytes());
        same(0, next(events).getResultCode());
        a.getData().inBackground((c, e) -> events.add(e)).forPath(s.path);
        same("data", new String(next(events).getData()));
        a.getData().inBackground((c, e) -> events.add(e)).forPath(s.path + "/none");
        same(KeeperException.Code.NONODE.intValue(), next(events).getResultCode());
    }

    static void createdOrSet(Site s) throws Exception {
        CuratorFramework a = s.client();
        Stat made = new Stat();
        a.create().orSetData().storingStatIn(made).creatingParentsIfNeeded().forPath(s.path, "1".getBytes());
        same(0, made.getVersion());
        a.create().orSetData().forPath(s.path, "2".getBytes());
        same("2", new String(a.getData().forPath(s.path)));
        a.delete().quietly().forPath(s.path + "/none");
        a.delete().guaranteed().deletingChildrenIfNeeded().forPath(s.path);
        check(a.checkExists().forPath(s.path) == null, "still there");
    }

    static void sessionIsLostAndComesBack(Site s) throws Exception {
        CuratorFramework a = s.client();
        BlockingQueue<ConnectionState> states = new LinkedBlockingQueue<>();
        a.getConnectionStateListenable().addListener((c, state) -> states.add(state));
        expire(a);
        List<ConnectionState> seen = new ArrayList<>();
        while (!seen.contains(ConnectionState.RECONNECTED)) {
            seen.add(next(states));
        }
        check(seen.contains(ConnectionState.LOST), seen.toString());
    }

    static void configIsRead(Site s) throws Exception {
        String config = new String(s.client().getConfig().forEnsemble());
        check(config.matches("(?s)server\\.1=.*\nversion=[0-9a-f]+"), config);
    }
}
