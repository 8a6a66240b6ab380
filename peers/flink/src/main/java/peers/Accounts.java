package peers;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Rule 17, keyed by vehicle: a request waits for the watermark of its second, when all charges up to then are there.
 */
public class Accounts extends KeyedCoProcessFunction<Integer, Charge, Event, Answer> {
    private static final TypeInformation<Account> ACCOUNT = Types.POJO(
            Account.class,
            java.util.Map.of(
                    "balance", Types.INT, "charged", Types.INT, "later", Types.LIST(Types.POJO(Charge.class))));

    private transient ValueState<Account> account;
    private transient ListState<Event> waiting;

    @Override
    public void open(OpenContext context) {
        account = getRuntimeContext().getState(new ValueStateDescriptor<>("account", ACCOUNT));
        waiting = getRuntimeContext().getListState(new ListStateDescriptor<>("waiting", Event.class));
    }

    @Override
    public void processElement1(Charge charge, Context context, Collector<Answer> out) throws Exception {
        Account own = account.value();
        if (own == null) {
            own = new Account();
        }
        settle(own, context.timerService().currentWatermark());
        own.later.add(charge);
        account.update(own);
    }

    @Override
    public void processElement2(Event request, Context context, Collector<Answer> out) throws Exception {
        waiting.add(request);
        context.timerService().registerEventTimeTimer(request.time);
    }

    @Override
    public void onTimer(long second, OnTimerContext context, Collector<Answer> out) throws Exception {
        Account own = account.value();
        if (own == null) {
            own = new Account();
        }
        settle(own, second);
        account.update(own);
        List<Event> left = new ArrayList<>();
        for (Event request : waiting.get()) {
            if (request.time > second) {
                left.add(request);
                continue;
            }
            int since = request.time - own.charged <= 60 ? own.charged : request.time;
            String values = "," + since + "," + request.qid + "," + own.balance;
            out.collect(new Answer("2," + request.time + ",", values));
        }
        waiting.update(left);
    }

    /** Charges through that second belong to the balance. */
    private static void settle(Account own, long second) {
        for (Iterator<Charge> later = own.later.iterator(); later.hasNext(); ) {
            Charge charge = later.next();
            if (charge.time <= second) {
                own.balance += charge.amount;
                own.charged = Math.max(own.charged, charge.time);
                later.remove();
            }
        }
    }
}
