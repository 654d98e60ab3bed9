import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

/**
 * Checks of Curator's recipes on one ensemble: Recipes ADDRESSES PATTERN [NAME...], where
 * the pattern is a regular expression that finds the checks. Each check has a part of the tree and
 * clients of its own. The program says "pass NAME", or "fail NAME" and why, for each of them.
 */
public class Recipes {
    static final long PATIENCE = 30; // seconds
    static final List<Class<?>> CHECKS = Arrays.asList(LockChecks.class, LeaderChecks.class, CacheChecks.class, ValueChecks.class,
        QueueChecks.class, NodeChecks.class, FrameworkChecks.class);
    static String addresses;

    interface Check {
        void run(Site site) throws Exception;
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    /** Where a check is made. */
    static class Site implements AutoCloseable {
        final String path;
        final List<AutoCloseable> open = new ArrayList<>();

        Site(String name) {
            path = "/recipes/" + name;
        }

        CuratorFramework client() throws Exception {
            return client("");
        }

        CuratorFramework client(String credentials) throws Exception {
            CuratorFrameworkFactory.Builder b = CuratorFrameworkFactory.builder().connectString(addresses)
                .sessionTimeoutMs(10_000).connectionTimeoutMs(10_000).retryPolicy(new RetryNTimes(20, 100));
            if (!credentials.isEmpty()) {
                b.authorization("digest", credentials.getBytes());
            }
            CuratorFramework client = b.build();
            client.start();
            keep(client);
            check(client.blockUntilConnected((int) PATIENCE, TimeUnit.SECONDS), "no connection");
            return client;
        }

        <T extends AutoCloseable> T keep(T t) {
            open.add(0, t);
            return t;
        }

        @Override
        public void close() throws Exception {
            for (AutoCloseable c : open) {
                c.close();
            }
        }
    }

    static void check(boolean ok, String what) {
        if (!ok) {
            throw new IllegalStateException(what);
        }
    }

    static void same(Object want, Object got) {
        check(want == null ? got == null : want.equals(got), "got " + got + ", want " + want);
    }

    static void eventually(String what, Condition c) throws Exception {
        for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE); !c.holds(); Thread.sleep(5)) {
            check(System.nanoTime() < end, "not after " + PATIENCE + " s: " + what);
        }
    }

    static void await(CountDownLatch latch, String what) throws Exception {
        check(latch.await(PATIENCE, TimeUnit.SECONDS), "not after " + PATIENCE + " s: " + what);
    }

    static <T> T next(BlockingQueue<T> queue) throws Exception {
        T t = queue.poll(PATIENCE, TimeUnit.SECONDS);
        check(t != null, "nothing came");
        return t;
    }

    /** Ends a client's session: a second client with the same session closes it. */
    static void expire(CuratorFramework client) throws Exception {
        ZooKeeper zk = client.getZookeeperClient().getZooKeeper();
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper twin = new ZooKeeper(addresses, 10_000, event -> {
            if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            }
        }, zk.getSessionId(), zk.getSessionPasswd());
        await(connected, "the second client of the session connects");
        twin.close();
    }

    static void acquire(InterProcessLock lock) throws Exception {
        check(lock.acquire(PATIENCE, TimeUnit.SECONDS), "not acquired");
    }

    static boolean refused(InterProcessLock lock) throws Exception {
        return !lock.acquire(50, TimeUnit.MILLISECONDS);
    }

    static Lease lease(InterProcessSemaphoreV2 s) throws Exception {
        Lease lease = s.acquire(PATIENCE, TimeUnit.SECONDS);
        check(lease != null, "no lease");
        return lease;
    }

    /** Runs functions at the same time, and throws what one of them throws. */
    @SafeVarargs
    static void together(Callable<Void>... all) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        for (Future<Void> f : threads.invokeAll(Arrays.asList(all))) {
            f.get();
        }
        threads.shutdown();
    }

    static void run(String name, Check check) {
        String why = "";
        try (Site site = new Site(name)) {
            check.run(site);
        } catch (Throwable e) {
            e.printStackTrace();
            why = (e instanceof InvocationTargetException ? e.getCause() : e).toString().replaceAll("\\s+", " ");
        }
        synchronized (System.out) {
            System.out.println(why.isEmpty() ? "pass " + name : "fail " + name + " " + why);
            System.out.flush();
        }
    }

    public static void main(String[] args) throws Exception {
        addresses = args[0];
        Predicate<String> wanted = Pattern.compile(args[1]).asPredicate();
        List<String> only = Arrays.asList(args).subList(2, args.length);
        Map<String, Check> all = new LinkedHashMap<>();
        for (Class<?> c : CHECKS) {
            for (Method m : c.getDeclaredMethods()) {
                if (Arrays.equals(m.getParameterTypes(), new Class<?>[] {Site.class})) {
                    all.put(m.getName(), site -> m.invoke(null, site));
                }
            }
        }
        ExecutorService threads = Executors.newFixedThreadPool(4);
        all.forEach((name, check) -> {
            if (wanted.test(name) && (only.isEmpty() || only.contains(name))) {
                threads.submit(() -> run(name, check));
            }
        });
        threads.shutdown();
        check(threads.awaitTermination(5, TimeUnit.MINUTES), "it takes too long");
        System.exit(0);
    }
}
