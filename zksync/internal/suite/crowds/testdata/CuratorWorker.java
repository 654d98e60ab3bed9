import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryOneTime;

/**
 * Curator's locks among those of others: CuratorWorker FILE. It does what the lines on its input say, and ends
 * with it.
 *
 * <p>While a client holds a lock there is a line with "begin" in FILE, and then one with "end": the kind, who, and
 * nanoseconds of the clock.
 */
public class CuratorWorker {
    static FileOutputStream file;
    static final AtomicBoolean stop = new AtomicBoolean();
    static final AtomicBoolean hang = new AtomicBoolean();
    static final AtomicInteger held = new AtomicInteger();
    static final List<Thread> threads = new ArrayList<>();
    static final Semaphore resigns = new Semaphore(0);
    static LeaderSelector selector;

    static CuratorFramework connect(String address, int timeout) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(address, timeout, 10_000, new RetryOneTime(100));
        client.start();
        if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection");
        }
        return client;
    }

    static void note(String verb, String kind, String who) throws Exception {
        java.time.Instant now = java.time.Instant.now();
        file.write((verb + " " + kind + " " + who + " " + (now.getEpochSecond() * 1_000_000_000L + now.getNano()) + "\n").getBytes());
    }

    static void rest(int millis) throws Exception {
        Thread.sleep(ThreadLocalRandom.current().nextInt(millis));
    }

    /** Holds the lock a while, or until the process is killed. */
    static void hold(String kind, String who) throws Exception {
        note("begin", kind, who);
        if (hang.compareAndSet(true, false)) {
            System.out.println("hangs " + who);
            Thread.sleep(Long.MAX_VALUE);
        }
        rest(4);
        note("end", kind, who);
        held.incrementAndGet();
    }

    static void work(CuratorFramework client, String path, boolean rw, String who) throws Exception {
        while (!stop.get()) {
            InterProcessLock lock = new InterProcessMutex(client, path);
            String kind = "write";
            if (rw) {
                InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
                kind = ThreadLocalRandom.current().nextInt(3) == 0 ? "write" : "read";
                lock = kind.equals("write") ? both.writeLock() : both.readLock();
            }
            switch (ThreadLocalRandom.current().nextInt(4)) {
                case 0: // gives up soon
                    if (!lock.acquire(ThreadLocalRandom.current().nextInt(50), TimeUnit.MILLISECONDS)) {
                        continue;
                    }
                    hold(kind, who);
                    break;
                case 1: // twice, as its thread may
                    lock.acquire();
                    lock.acquire();
                    hold(kind, who);
                    lock.release();
                    break;
                default:
                    lock.acquire();
                    hold(kind, who);
            }
            lock.release();
            rest(3);
        }
    }

    /** Some clients work with a lock until the word "stop". */
    static void crowd(String address, String path, String kind, String who, int timeout, int clients) throws Exception {
        for (int i = 0; i < clients; i++) {
            CuratorFramework client = connect(address, timeout);
            String name = who + "." + i;
            Thread thread = new Thread(() -> {
                try (client) {
                    work(client, path, kind.equals("rw"), name);
                } catch (Throwable e) {
                    failed(name, e);
                }
            });
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.start();
        }
        System.out.println("works");
    }

    /** Holds a lock until somebody asks for it back. */
    static void revocable(String address, String path) throws Exception {
        try (CuratorFramework client = connect(address, 10_000)) {
            CountDownLatch asked = new CountDownLatch(1);
            InterProcessMutex lock = new InterProcessMutex(client, path);
            lock.makeRevocable(l -> asked.countDown());
            lock.acquire();
            System.out.println("holds");
            if (!asked.await(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException("not asked for it");
            }
            System.out.println("revoked");
            lock.release();
        }
    }

    static void revoke(String address, String node) throws Exception {
        try (CuratorFramework client = connect(address, 10_000)) {
            Revoker.attemptRevoke(client, node);
        }
    }

    /** Stands for an election again and again. It leads until the word "resign". */
    static void elect(String address, String path, String id) throws Exception {
        selector = new LeaderSelector(connect(address, 10_000), path, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws Exception {
                note("begin", "write", "curator/" + id);
                System.out.println("leads");
                resigns.acquire();
                note("end", "write", "curator/" + id);
            }
        });
        selector.setId(id);
        selector.autoRequeue();
        selector.start();
        System.out.println("stands");
    }

    static void failed(String what, Throwable e) {
        e.printStackTrace();
        System.out.println("failed " + what + ": " + e);
    }

    static void run(String[] word) throws Exception {
        switch (word[0]) {
            case "crowd":
                crowd(word[1], word[2], word[3], word[4], Integer.parseInt(word[5]), Integer.parseInt(word[6]));
                break;
            case "hang":
                hang.set(true);
                break;
            case "stop":
                stop.set(true);
                for (Thread thread : threads) {
                    thread.join();
                }
                System.out.println("done " + held.get());
                break;
            case "revocable":
                revocable(word[1], word[2]);
                System.out.println("done");
                break;
            case "revoke":
                revoke(word[1], word[2]);
                System.out.println("done");
                break;
            case "elect":
                elect(word[1], word[2], word[3]);
                break;
            case "leader":
                System.out.println("leader " + selector.getLeader().getId());
                break;
            case "resign":
                resigns.release();
                break;
            case "close":
                selector.close();
                System.out.println("done");
                break;
            default:
                throw new IllegalArgumentException("unknown command");
        }
    }

    public static void main(String[] args) throws Exception {
        file = new FileOutputStream(args[0], true);
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                try {
                    run(line.split(" "));
                } catch (Exception e) {
                    failed(line, e);
                }
            }
        }
        Runtime.getRuntime().halt(0);
    }
}
