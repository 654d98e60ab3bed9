import java.io.FileOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryOneTime;

/**
 * Curator's locks on one server: CuratorLocks ADDRESS FILE. Each thread is a client of its own. While it holds a
 * lock it has a line with "begin" in FILE, and then one with "end".
 */
public class CuratorLocks {
    static String address;
    static FileOutputStream out;

    interface Work {
        void with(CuratorFramework client) throws Exception;
    }

    static CuratorFramework connect() throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(address, 10_000, 10_000, new RetryOneTime(100));
        client.start();
        if (!client.blockUntilConnected(20, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection");
        }
        return client;
    }

    static void held(String kind) throws Exception {
        out.write(("begin " + kind + "\n").getBytes());
        Thread.sleep(ThreadLocalRandom.current().nextInt(3));
        out.write(("end " + kind + "\n").getBytes());
    }

    static void lock(InterProcessLock lock, String kind) throws Exception {
        for (int i = 0; i < 15; i++) {
            if (!lock.acquire(60, TimeUnit.SECONDS)) {
                throw new IllegalStateException("not acquired: " + kind);
            }
            held(kind);
            lock.release();
        }
    }

    static void together(Work... all) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Callable<Void>> calls = new ArrayList<>();
        for (Work work : all) {
            calls.add(() -> {
                try (CuratorFramework client = connect()) {
                    work.with(client);
                }
                return null;
            });
        }
        for (Future<Void> f : threads.invokeAll(calls)) {
            f.get();
        }
        threads.shutdown();
    }

    public static void main(String[] args) throws Exception {
        address = args[0];
        out = new FileOutputStream(args[1], true);

        Work mutex = c -> lock(new InterProcessMutex(c, "/curator/lock"), "lock");
        together(mutex, mutex, mutex);

        Work write = c -> lock(new InterProcessReadWriteLock(c, "/curator/rw").writeLock(), "write");
        Work read = c -> lock(new InterProcessReadWriteLock(c, "/curator/rw").readLock(), "read");
        together(write, write, read, read);

        Work semaphore = c -> {
            InterProcessSemaphoreV2 s = new InterProcessSemaphoreV2(c, "/curator/semaphore", 2);
            for (int i = 0; i < 15; i++) {
                Lease lease = s.acquire(60, TimeUnit.SECONDS);
                if (lease == null) {
                    throw new IllegalStateException("no lease");
                }
                held("semaphore");
                s.returnLease(lease);
            }
        };
        together(semaphore, semaphore, semaphore, semaphore);

        // The session of one that holds is ended from outside: it is told, and the next one holds.
        try (CuratorFramework holder = connect(); CuratorFramework waiter = connect()) {
            CountDownLatch lost = new CountDownLatch(1);
            holder.getConnectionStateListenable().addListener((c, state) -> {
                if (state == ConnectionState.LOST) {
                    lost.countDown();
                }
            });
            new InterProcessMutex(holder, "/curator/expire").acquire();
            System.out.println("holding " + holder.getZookeeperClient().getZooKeeper().getSessionId());
            if (!new InterProcessMutex(waiter, "/curator/expire").acquire(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the next one does not hold");
            }
            if (!lost.await(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the holder is not told");
            }
        }
        System.out.println("failures []");
        System.exit(0);
    }
}
