import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
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
 * Curator's locks on one server: CuratorLocks ADDRESS FILE. It does what the lines on its input say, and answers
 * each: "ok" and the line, or "failed", the line and why. It ends with its input.
 *
 * <p>While a client holds a lock there is a line with "begin" in FILE, and then one with "end". Every thread is a
 * client of its own, and there may be other processes.
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
        check(client.blockUntilConnected(20, TimeUnit.SECONDS), "no connection");
        return client;
    }

    static void check(boolean ok, String what) {
        if (!ok) {
            throw new IllegalStateException(what);
        }
    }

    static boolean refused(InterProcessLock lock) throws Exception {
        return !lock.acquire(50, TimeUnit.MILLISECONDS);
    }

    static void acquire(InterProcessLock lock) throws Exception {
        check(lock.acquire(60, TimeUnit.SECONDS), "not acquired");
    }

    static Lease acquire(InterProcessSemaphoreV2 semaphore) throws Exception {
        Lease lease = semaphore.acquire(60, TimeUnit.SECONDS);
        check(lease != null, "no lease");
        return lease;
    }

    static void held(String kind) throws Exception {
        out.write(("begin " + kind + "\n").getBytes());
        Thread.sleep(ThreadLocalRandom.current().nextInt(4));
        out.write(("end " + kind + "\n").getBytes());
    }

    static void work(InterProcessLock lock, String kind) throws Exception {
        for (int i = 0; i < 10; i++) {
            acquire(lock);
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

    /** Some clients work with the locks that those of other processes do. */
    static void crowd() throws Exception {
        Work mutex = c -> work(new InterProcessMutex(c, "/curator/lock"), "lock");
        together(mutex, mutex);

        Work write = c -> work(new InterProcessReadWriteLock(c, "/curator/rw").writeLock(), "write");
        Work read = c -> work(new InterProcessReadWriteLock(c, "/curator/rw").readLock(), "read");
        together(write, read);

        Work semaphore = c -> {
            InterProcessSemaphoreV2 s = new InterProcessSemaphoreV2(c, "/curator/semaphore", 2);
            for (int i = 0; i < 10; i++) {
                Lease lease = acquire(s);
                held("semaphore");
                s.returnLease(lease);
            }
        };
        together(semaphore, semaphore);
    }

    /** Who is let in beside whom, one step after the other. */
    static void rules() throws Exception {
        try (CuratorFramework a = connect(); CuratorFramework b = connect(); CuratorFramework c = connect()) {
            reentrant(new InterProcessMutex(a, "/curator/rules/lock"), new InterProcessMutex(b, "/curator/rules/lock"));

            InterProcessReadWriteLock one = new InterProcessReadWriteLock(a, "/curator/rules/rw");
            InterProcessReadWriteLock two = new InterProcessReadWriteLock(b, "/curator/rules/rw");
            InterProcessReadWriteLock three = new InterProcessReadWriteLock(c, "/curator/rules/rw");
            reentrant(one.writeLock(), two.writeLock());
            reentrant(one.writeLock(), two.readLock());
            acquire(one.readLock());
            acquire(two.readLock());
            check(refused(three.writeLock()), "a writer beside readers");
            one.readLock().release();
            check(refused(three.writeLock()), "a writer beside a reader");
            two.readLock().release();
            acquire(three.writeLock());
            check(refused(one.readLock()), "a reader beside a writer");
            // The writer may read as well, and go on as a reader.
            acquire(three.readLock());
            three.writeLock().release();
            check(refused(one.writeLock()), "a writer beside one that has become a reader");
            acquire(one.readLock());
            one.readLock().release();
            three.readLock().release();

            InterProcessSemaphoreV2 s = new InterProcessSemaphoreV2(a, "/curator/rules/semaphore", 2);
            InterProcessSemaphoreV2 other = new InterProcessSemaphoreV2(b, "/curator/rules/semaphore", 2);
            Lease first = acquire(s);
            Lease second = acquire(s);
            check(other.acquire(50, TimeUnit.MILLISECONDS) == null, "a third permit of two");
            s.returnLease(first);
            Lease third = acquire(other);
            s.returnLease(second);
            other.returnLease(third);
        }
    }

    /** A thread may take what it holds once more, and the next one waits until all is given back. */
    static void reentrant(InterProcessLock mine, InterProcessLock other) throws Exception {
        acquire(mine);
        acquire(mine);
        check(refused(other), "held by two");
        mine.release();
        check(refused(other), "held by two after the first release");
        mine.release();
        acquire(other);
        check(refused(mine), "held by two, the other way round");
        other.release();
    }

    /** Holds a lock until the session is over, and is told of that. */
    static void hold() throws Exception {
        try (CuratorFramework client = connect()) {
            CountDownLatch lost = new CountDownLatch(1);
            client.getConnectionStateListenable().addListener((c, state) -> {
                if (state == ConnectionState.LOST) {
                    lost.countDown();
                }
            });
            acquire(new InterProcessMutex(client, "/curator/expire"));
            System.out.println("holding " + client.getZookeeperClient().getZooKeeper().getSessionId());
            check(lost.await(30, TimeUnit.SECONDS), "the end of the session is not told");
        }
    }

    /** Waits for the lock that another process holds. */
    static void next() throws Exception {
        try (CuratorFramework client = connect()) {
            acquire(new InterProcessMutex(client, "/curator/expire"));
        }
    }

    static void run(String command) throws Exception {
        switch (command) {
            case "crowd": crowd(); break;
            case "rules": rules(); break;
            case "hold": hold(); break;
            case "next": next(); break;
            default: throw new IllegalArgumentException("unknown command");
        }
    }

    static void read(BlockingQueue<String> lines) {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.add(line);
            }
        } catch (IOException e) {
            System.err.println(e);
        }
        Runtime.getRuntime().halt(0);
    }

    public static void main(String[] args) throws Exception {
        address = args[0];
        out = new FileOutputStream(args[1], true);
        BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> read(lines));
        reader.setDaemon(true);
        reader.start();
        System.out.println("ready");
        while (true) {
            String command = lines.take();
            try {
                run(command);
                System.out.println("ok " + command);
            } catch (Exception e) {
                e.printStackTrace();
                System.out.println("failed " + command + ": " + e);
            }
        }
    }
}
