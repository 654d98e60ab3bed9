import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.recipes.nodes.PersistentTtlNode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.data.Stat;

/** Nodes that are kept in the tree. */
class NodeChecks extends Recipes {
    static void groupHasItsMembers(Site s) throws Exception {
        CuratorFramework b = s.client();
        GroupMember one = new GroupMember(s.client(), s.path, "one", "data of one".getBytes());
        GroupMember two = new GroupMember(b, s.path, "two");
        one.start();
        two.start();
        s.keep(one);
        eventually("both are members", () -> one.getCurrentMembers().size() == 2 && two.getCurrentMembers().size() == 2);
        same("data of one", new String(two.getCurrentMembers().get("one")));
        two.close();
        eventually("one has left", () -> one.getCurrentMembers().size() == 1);
    }

    static void memberComesBackWithANewSession(Site s) throws Exception {
        CuratorFramework a = s.client();
        GroupMember one = s.keep(new GroupMember(a, s.path, "one"));
        GroupMember two = s.keep(new GroupMember(s.client(), s.path, "two"));
        one.start();
        two.start();
        eventually("both are members", () -> two.getCurrentMembers().size() == 2);
        long session = owner(two, s, "one");
        expire(a);
        eventually("it is there again", () -> owner(two, s, "one") != 0 && owner(two, s, "one") != session);
    }

    static long owner(GroupMember member, Site s, String id) throws Exception {
        CuratorFramework c = (CuratorFramework) s.open.stream().filter(x -> x instanceof CuratorFramework).findFirst().get();
        Stat stat = c.checkExists().forPath(s.path + "/" + id);
        return stat == null ? 0 : stat.getEphemeralOwner();
    }

    static void persistentNodeComesBack(Site s) throws Exception {
        CuratorFramework a = s.client();
        CuratorFramework b = s.client();
        PersistentNode node = s.keep(new PersistentNode(a, CreateMode.EPHEMERAL, false, s.path, "data".getBytes()));
        node.start();
        check(node.waitForInitialCreate(PATIENCE, TimeUnit.SECONDS), "not made");
        b.delete().forPath(s.path);
        eventually("it is made again", () -> b.checkExists().forPath(s.path) != null);
        long session = b.checkExists().forPath(s.path).getEphemeralOwner();
        expire(a);
        eventually("it has a new session", () -> {
            Stat stat = b.checkExists().forPath(s.path);
            return stat != null && stat.getEphemeralOwner() != session;
        });
        node.setData("new".getBytes());
        eventually("the new data is there", () -> new String(b.getData().forPath(s.path)).equals("new"));
    }

    static void persistentSequentialNode(Site s) throws Exception {
        CuratorFramework a = s.client();
        PersistentNode node = new PersistentNode(a, CreateMode.PERSISTENT_SEQUENTIAL, true, s.path + "/node-", "data".getBytes());
        node.start();
        check(node.waitForInitialCreate(PATIENCE, TimeUnit.SECONDS), "not made");
        String path = node.getActualPath();
        check(path.matches(".*/_c_[0-9a-f-]{36}-node-\\d{10}"), path);
        node.close();
        check(a.checkExists().forPath(path) == null, "still there");
    }

    static void ttlNodeIsTouched(Site s) throws Exception {
        CuratorFramework a = s.client();
        PersistentTtlNode node = s.keep(new PersistentTtlNode(a, s.path, 300, "data".getBytes()));
        node.start();
        check(node.waitForInitialCreate(PATIENCE, TimeUnit.SECONDS), "not made");
        eventually("it is touched", () -> a.checkExists().forPath(s.path + "/" + PersistentTtlNode.DEFAULT_CHILD_NODE_NAME) != null);
        same("data", new String(node.getData()));
    }
}
