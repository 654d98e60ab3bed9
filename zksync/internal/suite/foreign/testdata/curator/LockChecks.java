import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.shared.SharedCount;

/** Locks. */
class LockChecks extends Recipes {
    static void mutexReentersAndExcludes(Site s) throws Exception {
        InterProcessMutex one = new InterProcessMutex(s.client(), s.path);
        InterProcessMutex two = new InterProcessMutex(s.client(), s.path);
        acquire(one);
        acquire(one);
        check(refused(two), "two hold");
        one.release();
        check(refused(two), "two hold after the first release");
        one.release();
        acquire(two);
        check(refused(one), "two hold, the other way round");
        two.release();
    }

    static void mutexPassesOnWithTheSession(Site s) throws Exception {
        CuratorFramework a = s.client();
        InterProcessMutex one = new InterProcessMutex(a, s.path);
        acquire(one);
        expire(a);
        InterProcessMutex two = new InterProcessMutex(s.client(), s.path);
        acquire(two);
        two.release();
    }

    static void mutexIsRevoked(Site s) throws Exception {
        InterProcessMutex one = new InterProcessMutex(s.client(), s.path);
        CountDownLatch asked = new CountDownLatch(1);
        one.makeRevocable(lock -> asked.countDown());
        acquire(one);
        CuratorFramework b = s.client();
        Collection<String> nodes = new InterProcessMutex(b, s.path).getParticipantNodes();
        same(1, nodes.size());
        Revoker.attemptRevoke(b, nodes.iterator().next());
        await(asked, "the holder is asked");
        one.release();
    }

    static void mutexInOrder(Site s) throws Exception {
        InterProcessMutex first = new InterProcessMutex(s.client(), s.path);
        acquire(first);
        BlockingQueue<Integer> order = new LinkedBlockingQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int number = i;
            InterProcessMutex lock = new InterProcessMutex(s.client(), s.path);
            Thread t = new Thread(() -> {
                try {
                    acquire(lock);
                    order.add(number);
                    lock.release();
                } catch (Exception e) {
                    e.printStackTrace();
                }
            });
            t.start();
            threads.add(t);
            eventually("it stands in line", () -> first.getParticipantNodes().size() == number + 2);
        }
        first.release();
        for (int i = 0; i < 4; i++) {
            same(i, next(order));
        }
        for (Thread t : threads) {
            t.join();
        }
    }

    static void semaphoreMutexDoesNotReenter(Site s) throws Exception {
        InterProcessSemaphoreMutex lock = new InterProcessSemaphoreMutex(s.client(), s.path);
        acquire(lock);
        check(refused(lock), "it re-enters");
        lock.release();
        check(!lock.isAcquiredInThisProcess(), "still acquired");
    }

    static void readersShare(Site s) throws Exception {
        InterProcessReadWriteLock one = new InterProcessReadWriteLock(s.client(), s.path);
        InterProcessReadWriteLock two = new InterProcessReadWriteLock(s.client(), s.path);
        acquire(one.readLock());
        acquire(two.readLock());
        check(refused(new InterProcessReadWriteLock(s.client(), s.path).writeLock()), "a writer beside readers");
        one.readLock().release();
        two.readLock().release();
        acquire(one.writeLock());
        check(refused(two.readLock()), "a reader beside a writer");
        check(refused(two.writeLock()), "a writer beside a writer");
        one.writeLock().release();
    }

    static void writerBecomesReader(Site s) throws Exception {
        InterProcessReadWriteLock one = new InterProcessReadWriteLock(s.client(), s.path);
        InterProcessReadWriteLock two = new InterProcessReadWriteLock(s.client(), s.path);
        acquire(one.writeLock());
        acquire(one.readLock());
        one.writeLock().release();
        check(refused(two.writeLock()), "a writer beside one that reads");
        acquire(two.readLock());
        two.readLock().release();
        one.readLock().release();
        acquire(two.writeLock());
        two.writeLock().release();
    }

    static void multiLockIsAllOrNothing(Site s) throws Exception {
        CuratorFramework a = s.client();
        CuratorFramework b = s.client();
        List<String> paths = Arrays.asList(s.path + "/a", s.path + "/b");
        InterProcessMultiLock all = new InterProcessMultiLock(a, paths);
        InterProcessMutex second = new InterProcessMutex(b, paths.get(1));
        acquire(second);
        check(refused(all), "all, while somebody has one");
        second.release();
        acquire(all);
        check(refused(second), "one, while somebody has all");
        all.release();
    }

    static void semaphoreHasItsLimit(Site s) throws Exception {
        InterProcessSemaphoreV2 one = new InterProcessSemaphoreV2(s.client(), s.path, 2);
        InterProcessSemaphoreV2 two = new InterProcessSemaphoreV2(s.client(), s.path, 2);
        Lease first = lease(one);
        Lease second = lease(two);
        check(two.acquire(50, TimeUnit.MILLISECONDS) == null, "a third of two");
        same(2, one.getParticipantNodes().size());
        one.returnLease(first);
        Lease third = lease(two);
        two.returnLease(second);
        two.returnLease(third);
    }

    static void semaphoreTakesSeveral(Site s) throws Exception {
        InterProcessSemaphoreV2 one = new InterProcessSemaphoreV2(s.client(), s.path, 5);
        Collection<Lease> three = one.acquire(3, PATIENCE, TimeUnit.SECONDS);
        same(3, three.size());
        check(one.acquire(3, 50, TimeUnit.MILLISECONDS) == null, "six of five");
        one.returnAll(three);
        one.returnAll(one.acquire(5, PATIENCE, TimeUnit.SECONDS));
    }

    static void semaphoreFollowsASharedCount(Site s) throws Exception {
        CuratorFramework a = s.client();
        SharedCount limit = new SharedCount(a, s.path + "/limit", 1);
        limit.start();
        s.keep(limit::close);
        InterProcessSemaphoreV2 one = new InterProcessSemaphoreV2(a, s.path + "/semaphore", limit);
        Lease first = lease(one);
        check(one.acquire(50, TimeUnit.MILLISECONDS) == null, "two of one");
        limit.setCount(2);
        eventually("the limit is seen", () -> limit.getCount() == 2);
        Lease second = lease(one);
        one.returnLease(first);
        one.returnLease(second);
    }

    static void leaseEndsWithTheSession(Site s) throws Exception {
        CuratorFramework a = s.client();
        lease(new InterProcessSemaphoreV2(a, s.path, 1));
        expire(a);
        InterProcessSemaphoreV2 two = new InterProcessSemaphoreV2(s.client(), s.path, 1);
        two.returnLease(lease(two));
    }
}
