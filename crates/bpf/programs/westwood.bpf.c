// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * TCP Westwood+: after a loss, the window that the measured bandwidth needs.
 *
 * Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion control"
 * (ACM CCR 34(2), 2004), as the kernel's module of that name has it.
 */
#include "tcp.h"

/* Bandwidth is not sampled over less than 50 ms; the round-trip time before there is one is 20 s. */
#define SHORTEST_SAMPLE (TICKS_PER_SECOND / 20)
#define INITIAL_RTT (20 * TICKS_PER_SECOND)

struct westwood {
	__u32 first;  /* bytes per tick after the first stage of the filter */
	__u32 second; /* after both */
	__u32 sample_start;
	__u32 sample_bytes;
	__u32 first_unacknowledged;
	__u32 accounted;
	__u32 rtt;
	__u32 least_rtt;
	__u32 is_first;
	__u32 forgets_least;
};

/* Closes the sample when a round trip has passed. */
static __always_inline void update_sample(struct tcp_sock *tp, struct westwood *ca)
{
	__u32 now = ticks(), passed = now - ca->sample_start;

	if (ca->is_first) {
		ca->first_unacknowledged = tp->snd_una;
		ca->is_first = 0;
	}
	if (ca->rtt && passed > most_of(ca->rtt, SHORTEST_SAMPLE)) {
		__u32 sample = ca->sample_bytes / passed;

		if (!ca->first && !ca->second) {
			ca->first = sample;
			ca->second = sample;
		} else {
			ca->first = (7 * ca->first + sample) >> 3;
			ca->second = (7 * ca->second + ca->first) >> 3;
		}
		ca->sample_bytes = 0;
		ca->sample_start = now;
	}
}

static __always_inline void update_least(struct westwood *ca)
{
	if (ca->forgets_least || ca->rtt < ca->least_rtt)
		ca->least_rtt = ca->rtt;
	ca->forgets_least = 0;
}

/* Bytes that an acknowledgement stands for: a duplicate for one packet, and a later one for so much less. */
static __always_inline __u32 count(struct tcp_sock *tp, struct westwood *ca)
{
	__u32 acked = tp->snd_una - ca->first_unacknowledged, packet = tp->mss_cache;

	if (!acked) {
		ca->accounted += packet;
		acked = packet;
	}
	if (acked > packet) {
		if (ca->accounted >= acked) {
			ca->accounted -= acked;
			acked = packet;
		} else {
			acked -= ca->accounted;
			ca->accounted = 0;
		}
	}
	ca->first_unacknowledged = tp->snd_una;
	return acked;
}

/* Bandwidth times least delay. */
static __always_inline __u32 needed_window(struct tcp_sock *tp, struct westwood *ca)
{
	__u32 packet = tp->mss_cache;

	return most_of(packet ? (__u32)((__u64)ca->second * ca->least_rtt / packet) : 0, LEAST_WINDOW);
}

HOOK void BPF_PROG(westwood_init, struct sock *sk)
{
	struct westwood *ca = state_of(sk);

	ca->first = 0;
	ca->second = 0;
	ca->sample_bytes = 0;
	ca->accounted = 0;
	ca->forgets_least = 1;
	ca->least_rtt = INITIAL_RTT;
	ca->rtt = INITIAL_RTT;
	ca->sample_start = ticks();
	ca->first_unacknowledged = tcp_sk(sk)->snd_una;
	ca->is_first = 1;
}

HOOK void BPF_PROG(westwood_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct westwood *ca = state_of(sk);

	if (sample->rtt_us > 0)
		ca->rtt = ticks_in(sample->rtt_us);
}

HOOK void BPF_PROG(westwood_ack, struct sock *sk, __u32 flags)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = state_of(sk);

	update_sample(tp, ca);
	if (flags & CA_ACK_SLOWPATH) {
		ca->sample_bytes += count(tp, ca);
	} else {
		ca->sample_bytes += tp->snd_una - ca->first_unacknowledged;
		ca->first_unacknowledged = tp->snd_una;
	}
	update_least(ca);
}

HOOK void BPF_PROG(westwood_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = state_of(sk);
	__u32 needed;

	if (event == CA_EVENT_COMPLETE_CWR) {
		needed = needed_window(tp, ca);
		tp->snd_ssthresh = needed;
		tp->snd_cwnd = needed;
	} else if (event == CA_EVENT_LOSS) {
		tp->snd_ssthresh = needed_window(tp, ca);
		ca->forgets_least = 1;
	}
}

HOOK void BPF_PROG(westwood_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

HOOK __u32 BPF_PROG(westwood_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

HOOK __u32 BPF_PROG(westwood_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ops = {
	.init = (void *)westwood_init,
	.pkts_acked = (void *)westwood_acked,
	.in_ack_event = (void *)westwood_ack,
	.cwnd_event = (void *)westwood_event,
	.cong_avoid = (void *)westwood_cong_avoid,
	.ssthresh = (void *)westwood_ssthresh,
	.undo_cwnd = (void *)westwood_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
};

LICENSE;
