import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.cache.NodeCache;
import org.apache.curator.framework.recipes.cache.PathChildrenCache;
import org.apache.curator.framework.recipes.cache.TreeCache;

/** Caches. */
class CacheChecks extends Recipes {
    static void curatorCacheTellsChanges(Site s) throws Exception {
        CuratorFramework a = s.client();
        CuratorFramework b = s.client();
        b.create().creatingParentsIfNeeded().forPath(s.path, "top".getBytes());
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        CuratorCache cache = s.keep(CuratorCache.build(a, s.path));
        CountDownLatch ready = new CountDownLatch(1);
        cache.listenable().addListener(CuratorCacheListener.builder()
            .forCreates(d -> events.add("new " + d.getPath())).forChanges((old, d) -> events.add("set " + d.getPath()))
            .forDeletes(d -> events.add("gone " + d.getPath())).forInitialized(ready::countDown).build());
        cache.start();
        await(ready, "the cache is filled");
        same("new " + s.path, next(events));
        b.create().creatingParentsIfNeeded().forPath(s.path + "/a/b", "1".getBytes());
        same("new " + s.path + "/a", next(events));
        same("new " + s.path + "/a/b", next(events));
        b.setData().forPath(s.path + "/a/b", "2".getBytes());
        same("set " + s.path + "/a/b", next(events));
        same("2", new String(cache.get(s.path + "/a/b").get().getData()));
        b.delete().deletingChildrenIfNeeded().forPath(s.path + "/a");
        same("gone " + s.path + "/a/b", next(events));
        same("gone " + s.path + "/a", next(events));
    }

    static void curatorCacheOutlivesTheSession(Site s) throws Exception {
        CuratorFramework a = s.client();
        CuratorFramework b = s.client();
        b.create().creatingParentsIfNeeded().forPath(s.path + "/kept");
        CuratorCache cache = s.keep(CuratorCache.build(a, s.path));
        cache.start();
        eventually("it is filled", () -> cache.get(s.path + "/kept").isPresent());
        expire(a);
        b.create().forPath(s.path + "/later");
        b.delete().forPath(s.path + "/kept");
        eventually("it has all changes", () -> cache.get(s.path + "/later").isPresent() && !cache.get(s.path + "/kept").isPresent());
    }

    static void singleNodeCache(Site s) throws Exception {
        CuratorFramework a = s.client();
        a.create().creatingParentsIfNeeded().forPath(s.path + "/below");
        CuratorCache cache = s.keep(CuratorCache.build(a, s.path, CuratorCache.Options.SINGLE_NODE_CACHE));
        cache.start();
        a.setData().forPath(s.path, "new".getBytes());
        eventually("the change is seen", () -> cache.get(s.path).map(d -> new String(d.getData()).equals("new")).orElse(false));
        check(!cache.get(s.path + "/below").isPresent(), "more than one node");
    }

    @SuppressWarnings("deprecation")
    static void treeCache(Site s) throws Exception {
        CuratorFramework a = s.client();
        TreeCache cache = s.keep(new TreeCache(a, s.path));
        cache.start();
        CuratorFramework b = s.client();
        for (int i = 0; i < 10; i++) {
            b.create().creatingParentsIfNeeded().forPath(s.path + "/" + i + "/x", new byte[] {(byte) i});
        }
        eventually("all is there", () -> {
            ChildData last = cache.getCurrentData(s.path + "/9/x");
            Map<String, ChildData> children = cache.getCurrentChildren(s.path);
            return last != null && last.getData()[0] == 9 && children != null && children.size() == 10;
        });
        b.delete().deletingChildrenIfNeeded().forPath(s.path + "/3");
        eventually("a part is gone", () -> cache.getCurrentChildren(s.path).size() == 9);
    }

    @SuppressWarnings("deprecation")
    static void pathChildrenCache(Site s) throws Exception {
        CuratorFramework a = s.client();
        a.create().creatingParentsIfNeeded().forPath(s.path + "/first", "1".getBytes());
        PathChildrenCache cache = s.keep(new PathChildrenCache(a, s.path, true));
        cache.start(PathChildrenCache.StartMode.BUILD_INITIAL_CACHE);
        same("1", new String(cache.getCurrentData(s.path + "/first").getData()));
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        cache.getListenable().addListener((c, e) -> events.add(e.getType() + " " + e.getData().getPath()));
        CuratorFramework b = s.client();
        b.create().forPath(s.path + "/second");
        same("CHILD_ADDED " + s.path + "/second", next(events));
        b.setData().forPath(s.path + "/first", "2".getBytes());
        same("CHILD_UPDATED " + s.path + "/first", next(events));
        b.delete().forPath(s.path + "/second");
        same("CHILD_REMOVED " + s.path + "/second", next(events));
    }

    @SuppressWarnings("deprecation")
    static void nodeCache(Site s) throws Exception {
        CuratorFramework a = s.client();
        NodeCache cache = s.keep(new NodeCache(a, s.path));
        cache.start(true);
        check(cache.getCurrentData() == null, "there is no node yet");
        a.create().creatingParentsIfNeeded().forPath(s.path, "1".getBytes());
        eventually("it is made", () -> cache.getCurrentData() != null);
        a.setData().forPath(s.path, "2".getBytes());
        eventually("it is changed", () -> new String(cache.getCurrentData().getData()).equals("2"));
        a.delete().forPath(s.path);
        eventually("it is gone", () -> cache.getCurrentData() == null);
    }
}
