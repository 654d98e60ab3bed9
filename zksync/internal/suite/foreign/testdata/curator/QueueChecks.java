import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.queue.DistributedDelayQueue;
import org.apache.curator.framework.recipes.queue.DistributedIdQueue;
import org.apache.curator.framework.recipes.queue.DistributedPriorityQueue;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.state.ConnectionState;

/** Queues. */
class QueueChecks extends Recipes {
    static final QueueSerializer<String> TEXT = new QueueSerializer<String>() {
        @Override
        public byte[] serialize(String item) {
            return item.getBytes();
        }

        @Override
        public String deserialize(byte[] bytes) {
            return new String(bytes);
        }
    };

    static QueueConsumer<String> into(BlockingQueue<String> got) {
        return new QueueConsumer<String>() {
            @Override
            public void consumeMessage(String message) {
                got.add(message);
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState newState) {
            }
        };
    }

    static void queueInOrder(Site s) throws Exception {
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        DistributedQueue<String> producer = s.keep(QueueBuilder.builder(s.client(), null, TEXT, s.path).buildQueue());
        producer.start();
        for (int i = 0; i < 10; i++) {
            producer.put("item " + i);
        }
        check(producer.flushPuts(PATIENCE, TimeUnit.SECONDS), "items are not put");
        DistributedQueue<String> consumer = s.keep(QueueBuilder.builder(s.client(), into(got), TEXT, s.path)
            .lockPath(s.path + "-locks").buildQueue());
        consumer.start();
        for (int i = 0; i < 10; i++) {
            same("item " + i, next(got));
        }
    }

    static void queueByPriority(Site s) throws Exception {
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        DistributedPriorityQueue<String> producer = s.keep(QueueBuilder.builder(s.client(), null, TEXT, s.path).buildPriorityQueue(0));
        producer.start();
        producer.put("late", 9);
        producer.put("soon", 1);
        producer.put("middle", 5);
        check(producer.flushPuts(PATIENCE, TimeUnit.SECONDS), "items are not put");
        DistributedPriorityQueue<String> consumer = s.keep(
            QueueBuilder.builder(s.client(), into(got), TEXT, s.path).buildPriorityQueue(0));
        consumer.start();
        for (String want : Arrays.asList("soon", "middle", "late")) {
            same(want, next(got));
        }
    }

    static void queueById(Site s) throws Exception {
        DistributedIdQueue<String> producer = s.keep(QueueBuilder.builder(s.client(), null, TEXT, s.path).buildIdQueue());
        producer.start();
        producer.put("a", "one");
        producer.put("b", "two");
        check(producer.flushPuts(PATIENCE, TimeUnit.SECONDS), "items are not put");
        same(1, producer.remove("one"));
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        DistributedIdQueue<String> consumer = s.keep(QueueBuilder.builder(s.client(), into(got), TEXT, s.path).buildIdQueue());
        consumer.start();
        same("b", next(got));
    }

    static void queueWithDelay(Site s) throws Exception {
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        DistributedDelayQueue<String> queue = s.keep(QueueBuilder.builder(s.client(), into(got), TEXT, s.path).buildDelayQueue());
        queue.start();
        long now = System.currentTimeMillis();
        queue.put("later", now + 400);
        queue.put("now", now - 1);
        same("now", next(got));
        same("later", next(got));
        check(System.currentTimeMillis() >= now + 400, "too early");
    }

    static void simpleQueue(Site s) throws Exception {
        SimpleDistributedQueue one = new SimpleDistributedQueue(s.client(), s.path);
        SimpleDistributedQueue two = new SimpleDistributedQueue(s.client(), s.path);
        check(one.poll() == null, "an item in an empty queue");
        together(() -> {
            same("a", new String(two.poll(PATIENCE, TimeUnit.SECONDS)));
            return null;
        }, () -> {
            check(one.offer("a".getBytes()), "not offered");
            return null;
        });
        one.offer("b".getBytes());
        one.offer("c".getBytes());
        same("b", new String(two.peek()));
        same("b", new String(two.take()));
        same("c", new String(two.remove()));
    }
}
