import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;

/** Leaders and barriers. */
class LeaderChecks extends Recipes {
    static LeaderLatch latch(Site s, CuratorFramework client, String id) throws Exception {
        LeaderLatch latch = new LeaderLatch(client, s.path, id);
        latch.start();
        s.keep(() -> {
            if (latch.getState() != LeaderLatch.State.CLOSED) {
                latch.close();
            }
        });
        return latch;
    }

    static void latchPassesOn(Site s) throws Exception {
        LeaderLatch one = latch(s, s.client(), "one");
        check(one.await(PATIENCE, TimeUnit.SECONDS), "nobody leads");
        LeaderLatch two = latch(s, s.client(), "two");
        eventually("both take part", () -> one.getParticipants().size() == 2);
        same("one", two.getLeader().getId());
        check(!two.hasLeadership(), "two lead");
        one.close();
        check(two.await(PATIENCE, TimeUnit.SECONDS), "the second one does not lead");
    }

    static void latchIsLostWithTheSession(Site s) throws Exception {
        CuratorFramework a = s.client();
        LeaderLatch one = latch(s, a, "one");
        check(one.await(PATIENCE, TimeUnit.SECONDS), "nobody leads");
        LeaderLatch two = latch(s, s.client(), "two");
        eventually("both take part", () -> one.getParticipants().size() == 2);
        expire(a);
        check(two.await(PATIENCE, TimeUnit.SECONDS), "the second one does not lead");
        eventually("the first one knows, and stands again", () -> !one.hasLeadership() && two.getParticipants().size() == 2);
    }

    static void selectorTakesTurns(Site s) throws Exception {
        BlockingQueue<String> leaders = new LinkedBlockingQueue<>();
        for (String id : Arrays.asList("one", "two", "three")) {
            LeaderSelector selector = new LeaderSelector(s.client(), s.path, new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework client) throws Exception {
                    leaders.add(id);
                    Thread.sleep(20);
                }
            });
            selector.setId(id);
            selector.autoRequeue();
            selector.start();
            s.keep(selector);
        }
        List<String> seen = new ArrayList<>();
        while (!seen.containsAll(Arrays.asList("one", "two", "three"))) {
            seen.add(next(leaders));
            check(seen.size() < 200, "somebody never leads");
        }
    }

    static void selectorIsInterrupted(Site s) throws Exception {
        CountDownLatch leads = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        LeaderSelector selector = new LeaderSelector(s.client(), s.path, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws Exception {
                leads.countDown();
                try {
                    Thread.sleep(TimeUnit.SECONDS.toMillis(PATIENCE));
                } catch (InterruptedException e) {
                    interrupted.countDown();
                }
            }
        });
        selector.setId("me");
        selector.start();
        s.keep(selector);
        await(leads, "it leads");
        same("me", selector.getLeader().getId());
        selector.interruptLeadership();
        await(interrupted, "it is interrupted");
    }

    static void barrierHoldsUntilRemoved(Site s) throws Exception {
        DistributedBarrier mine = new DistributedBarrier(s.client(), s.path);
        mine.setBarrier();
        DistributedBarrier other = new DistributedBarrier(s.client(), s.path);
        check(!other.waitOnBarrier(50, TimeUnit.MILLISECONDS), "let through");
        together(() -> {
            check(other.waitOnBarrier(PATIENCE, TimeUnit.SECONDS), "not let through");
            return null;
        }, () -> {
            mine.removeBarrier();
            return null;
        });
    }

    static void doubleBarrierWaitsForAll(Site s) throws Exception {
        AtomicInteger inside = new AtomicInteger();
        List<Callable<Void>> all = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            CuratorFramework client = s.client();
            all.add(() -> {
                DistributedDoubleBarrier b = new DistributedDoubleBarrier(client, s.path, 3);
                check(b.enter(PATIENCE, TimeUnit.SECONDS), "not entered");
                inside.incrementAndGet();
                check(b.leave(PATIENCE, TimeUnit.SECONDS), "not left");
                same(3, inside.get());
                return null;
            });
        }
        together(all.get(0), all.get(1), all.get(2));
    }
}
