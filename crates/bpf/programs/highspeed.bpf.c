// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * HighSpeed TCP (RFC 3649): Reno below 38 packets, above it the faster and the gentler the larger the window. As the
 * kernel's module of that name has it.
 */
#include "tcp.h"

/* RFC 3649, appendix B: the windows where a(w) has grown by one, and b(w) there in 1/256, rounded down. */
static const struct {
	__u32 window;
	__u32 decrease;
} table[] = {
	{ 38, 128 }, { 118, 112 }, { 221, 104 }, { 347, 98 }, { 495, 93 }, { 663, 89 }, { 851, 86 }, { 1058, 83 },
	{ 1284, 81 }, { 1529, 78 }, { 1793, 76 }, { 2076, 74 }, { 2378, 72 }, { 2699, 71 }, { 3039, 69 },
	{ 3399, 68 }, { 3778, 66 }, { 4177, 65 }, { 4596, 64 }, { 5036, 62 }, { 5497, 61 }, { 5979, 60 },
	{ 6483, 59 }, { 7009, 58 }, { 7558, 57 }, { 8130, 56 }, { 8726, 55 }, { 9346, 54 }, { 9991, 53 },
	{ 10661, 52 }, { 11358, 52 }, { 12082, 51 }, { 12834, 50 }, { 13614, 49 }, { 14424, 48 }, { 15265, 48 },
	{ 16137, 47 }, { 17042, 46 }, { 17981, 45 }, { 18955, 45 }, { 19965, 44 }, { 21013, 43 }, { 22101, 43 },
	{ 23230, 42 }, { 24402, 41 }, { 25618, 41 }, { 26881, 40 }, { 28193, 39 }, { 29557, 39 }, { 30975, 38 },
	{ 32450, 38 }, { 33986, 37 }, { 35586, 36 }, { 37253, 36 }, { 38992, 35 }, { 40808, 35 }, { 42707, 34 },
	{ 44694, 33 }, { 46776, 33 }, { 48961, 32 }, { 51258, 32 }, { 53677, 31 }, { 56230, 30 }, { 58932, 30 },
	{ 61799, 29 }, { 64851, 28 }, { 68113, 28 }, { 71617, 27 }, { 75401, 26 }, { 79517, 26 }, { 84035, 25 },
	{ 89053, 24 }, { 94717, 23 },
};

#define ROWS (sizeof(table) / sizeof(table[0]))

struct highspeed {
	__u32 row; /* the row of the table that the window is in; a(w) is one more */
};

HOOK void BPF_PROG(highspeed_init, struct sock *sk)
{
	struct highspeed *ca = state_of(sk);

	ca->row = 0;
}

/* The first row that is not below the window. */
static __always_inline __u32 find_row(__u32 cwnd)
{
	__u32 low = 0, high = ROWS - 1;

	for (int step = 0; step < 7; step++) {
		__u32 middle = (low + high) / 2;

		if (low >= high || middle >= ROWS)
			break;
		if (cwnd > table[middle].window)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Grows by a(w)/w per acknowledgement, not per packet acknowledged (RFC 3649, section 5). */
HOOK void BPF_PROG(highspeed_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct highspeed *ca = state_of(sk);
	__u32 cwnd = tp->snd_cwnd, count;

	if (!is_limited(tp))
		return;
	if (in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	ca->row = find_row(cwnd);
	if (cwnd >= tp->snd_cwnd_clamp)
		return;
	count = tp->snd_cwnd_cnt + ca->row + 1;
	if (count >= cwnd) {
		count -= cwnd;
		tp->snd_cwnd = cwnd + 1;
	}
	tp->snd_cwnd_cnt = count;
}

HOOK __u32 BPF_PROG(highspeed_ssthresh, struct sock *sk)
{
	struct highspeed *ca = state_of(sk);
	__u32 cwnd = tcp_sk(sk)->snd_cwnd, row = ca->row;

	if (row >= ROWS)
		row = ROWS - 1;
	return most_of(cwnd - (__u32)((__u64)cwnd * table[row].decrease >> 8), LEAST_WINDOW);
}

HOOK __u32 BPF_PROG(highspeed_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ops = {
	.init = (void *)highspeed_init,
	.cong_avoid = (void *)highspeed_cong_avoid,
	.ssthresh = (void *)highspeed_ssthresh,
	.undo_cwnd = (void *)highspeed_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
};

LICENSE;
