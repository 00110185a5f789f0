// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Scalable TCP: the window grows by 1 % of what is acknowledged and falls by an eighth.
 *
 * Kelly, "Scalable TCP: improving performance in highspeed wide area networks" (ACM CCR 33(2), 2003), as the kernel's
 * module of that name has it.
 */
#include "tcp.h"

/* 1/a with Kelly's a = 0.01; b = 1/8 as a shift. */
#define STEP 100
#define DECREASE_SHIFT 3

HOOK void BPF_PROG(scalable_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!is_limited(tp))
		return;
	if (in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	/* Below a hundred packets Reno is faster. */
	tcp_cong_avoid_ai(tp, least_of(tp->snd_cwnd, STEP), acked);
}

HOOK __u32 BPF_PROG(scalable_ssthresh, struct sock *sk)
{
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;

	return most_of(cwnd - (cwnd >> DECREASE_SHIFT), LEAST_WINDOW);
}

HOOK __u32 BPF_PROG(scalable_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ops = {
	.cong_avoid = (void *)scalable_cong_avoid,
	.ssthresh = (void *)scalable_ssthresh,
	.undo_cwnd = (void *)scalable_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
};

LICENSE;
