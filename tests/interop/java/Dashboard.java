import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** What RocketMQ's dashboard asks and mqadmin does not. */
public class Dashboard {
    public static void main(String[] args) throws Exception {
        try {
            look(args[0], args[1], args[2], args[3]);
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static void look(String nameserver, String broker, String topic, String group) throws Exception {
        DefaultMQAdminExt admin = Sight.admin(nameserver);
        var config = admin.examineTopicConfig(broker, topic);
        Interop.say("topic", config.getTopicName(), config.getReadQueueNums(), config.getPerm());
        var groups = admin.getAllSubscriptionGroup(broker, 8000).getSubscriptionGroupTable();
        Interop.say("group", groups.get(group).getRetryMaxTimes());
        Interop.say("topics", admin.getAllTopicConfig(broker, 8000).getTopicConfigTable().containsKey(topic));
        for (String group_ : admin.queryTopicConsumeByWho(topic).getGroupList()) Interop.say("consumes", group_);
        var runtime = admin.fetchBrokerRuntimeStats(broker).getTable();
        // Its charts go by the first of three rates.
        Interop.say("rates", runtime.get("getTotalTps").split(" ").length, runtime.get("putTps").split(" ").length);
        Interop.say("puts", admin.viewBrokerStatsData(broker, "TOPIC_PUT_NUMS", topic).getStatsMinute().getSum());
        String key = topic + "@" + group;
        Interop.say("gets", admin.viewBrokerStatsData(broker, "GROUP_GET_NUMS", key).getStatsMinute().getSum());
        for (var each : admin.resetOffsetByTimestampOld(group, topic, 0, true)) {
            Interop.say("rolled", each.getQueueId(), each.getConsumerOffset(), each.getRollbackOffset());
        }
        admin.shutdown();
    }
}
