import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.CachedAtomicLong;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicInteger;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.atomic.PromotedToLock;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedValue;
import org.apache.curator.retry.RetryNTimes;

/** Counters and values. */
class ValueChecks extends Recipes {
    static void sharedCountConflicts(Site s) throws Exception {
        SharedCount one = new SharedCount(s.client(), s.path, 7);
        SharedCount two = new SharedCount(s.client(), s.path, 7);
        one.start();
        two.start();
        s.keep(one::close);
        s.keep(two::close);
        same(7, two.getCount());
        check(one.trySetCount(one.getVersionedValue(), 8), "refused without a conflict");
        eventually("the other one sees it", () -> two.getCount() == 8);
        org.apache.curator.framework.recipes.shared.VersionedValue<Integer> old = two.getVersionedValue();
        one.setCount(9);
        check(!two.trySetCount(old, 10), "an old version is taken");
        eventually("the other one sees it", () -> two.getCount() == 9);
    }

    static void sharedValueOutlivesTheSession(Site s) throws Exception {
        CuratorFramework a = s.client();
        SharedValue one = new SharedValue(a, s.path, "seed".getBytes());
        SharedValue two = new SharedValue(s.client(), s.path, "seed".getBytes());
        one.start();
        two.start();
        s.keep(one);
        s.keep(two);
        expire(a);
        two.setValue("new".getBytes());
        eventually("the change is seen", () -> new String(one.getValue()).equals("new"));
    }

    static void atomicIntegerLosesNothing(Site s) throws Exception {
        List<Callable<Void>> all = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            DistributedAtomicInteger n = new DistributedAtomicInteger(s.client(), s.path, new RetryNTimes(1000, 5));
            all.add(() -> {
                for (int k = 0; k < 20; k++) {
                    check(n.increment().succeeded(), "an increment fails");
                }
                return null;
            });
        }
        together(all.get(0), all.get(1), all.get(2));
        same(60, new DistributedAtomicInteger(s.client(), s.path, new RetryNTimes(3, 5)).get().postValue());
    }

    static void atomicLongWithALock(Site s) throws Exception {
        PromotedToLock lock = PromotedToLock.builder().lockPath(s.path + "/lock").timeout(PATIENCE, TimeUnit.SECONDS)
            .retryPolicy(new RetryNTimes(100, 5)).build();
        DistributedAtomicLong n = new DistributedAtomicLong(s.client(), s.path + "/n", new RetryNTimes(0, 0), lock);
        check(n.initialize(5L), "it has a value already");
        check(!n.initialize(6L), "it has no value");
        AtomicValue<Long> v = n.add(10L);
        same(5L, v.preValue());
        same(15L, v.postValue());
        check(!n.compareAndSet(5L, 6L).succeeded(), "an old value is taken");
        check(n.compareAndSet(15L, 16L).succeeded(), "the value is refused");
        CachedAtomicLong cached = new CachedAtomicLong(n, 10);
        same(17L, cached.next().postValue());
        same(18L, cached.next().postValue());
        same(26L, n.get().postValue());
    }
}
