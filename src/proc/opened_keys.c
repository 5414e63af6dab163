/* SPDX-License-Identifier: MIT */
/*
 * Opened keys: a process-private hash table, read under urcu-bp and changed
 * under lhi_proc_lock(); a handle is marked as closed (base/handle.c) after a
 * grace period, when no lookup can still be looking at it.
 *
 * The table has a fixed number of buckets, so liburcu starts no thread.
 */
#include <stdlib.h>
#include <string.h>
#include <urcu-bp.h>
#include <urcu/rculfhash.h>
#include "base/handle.h"
#include "proc/opened_keys.h"

#define BUCKETS 1024

static int
has_name(struct cds_lfht_node *node, const void *name)
{
	const struct lh_key *k = caa_container_of(node, struct lh_key, node);
	const struct lhi_key_name *n = name;

	return k->hash == n->hash && strcmp(k->name, n->key) == 0;
}

/* No lookup can see it any more. */
static void
free_key(struct lh_key *k)
{
	k->lh = &lhi_closed_lh;
	__atomic_store_n(&k->slot_ref, 0, __ATOMIC_RELAXED);
	lhi_handle_free(HANDLE_KEY, k);
}

static struct lh_key *
look_up_key(struct lh *lh, const struct lhi_key_name *n)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	cds_lfht_lookup(lh->keys, (unsigned long)n->hash, has_name, n, &iter);
	node = cds_lfht_iter_get_node(&iter);
	return node == NULL ? NULL :
	    caa_container_of(node, struct lh_key, node);
}

int
lhi_opened_keys_begin(struct lh *lh)
{
	lh->keys = cds_lfht_new_flavor(BUCKETS, BUCKETS, BUCKETS, 0,
	    &urcu_bp_flavor, NULL);
	return lh->keys == NULL ? -1 : 0;
}

void
lhi_opened_keys_end(struct lh *lh)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	if (lh->keys == NULL)
		return;
	urcu_bp_read_lock();
	cds_lfht_first(lh->keys, &iter);
	while ((node = cds_lfht_iter_get_node(&iter)) != NULL) {
		cds_lfht_next(lh->keys, &iter);
		(void)cds_lfht_del(lh->keys, node);
		/* closing: no other thread is inside */
		free_key(caa_container_of(node, struct lh_key, node));
	}
	urcu_bp_read_unlock();
	(void)cds_lfht_destroy(lh->keys, NULL);
	lh->keys = NULL;
}

struct lh_key *
lhi_opened_keys_find(struct lh *lh, const struct lhi_key_name *n)
{
	struct lh_key *k;
	uint32_t refs = 0;

	urcu_bp_read_lock();
	k = look_up_key(lh, n);
	if (k != NULL)
		refs = __atomic_load_n(&k->refs, __ATOMIC_RELAXED);
	/* a handle that has lost its last reference is not taken up again */
	while (refs != 0 && !__atomic_compare_exchange_n(&k->refs, &refs,
	    refs + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		;
	urcu_bp_read_unlock();
	return refs != 0 ? k : NULL;
}

struct lh_key *
lhi_opened_keys_add(struct lh *lh, const struct lhi_key_name *n,
    const struct lhi_ref *ref)
{
	struct lh_key *k;

	lhi_proc_lock();
	k = lhi_opened_keys_find(lh, n);
	if (k == NULL) {
		k = calloc(1, sizeof(*k) + n->len + 1);
		if (k != NULL) {
			k->lh = lh;
			k->slot_ref = ref->slot_ref;
			k->hash = n->hash;
			memcpy(k->name, n->key, n->len);
			/* pairs with: the swap in lhi_opened_keys_find() */
			__atomic_store_n(&k->refs, 1, __ATOMIC_RELEASE);
			cds_lfht_node_init(&k->node);
			urcu_bp_read_lock();
			cds_lfht_add(lh->keys, (unsigned long)n->hash,
			    &k->node);
			urcu_bp_read_unlock();
		}
	}
	lhi_proc_unlock();
	return k;
}

void
lhi_opened_keys_drop(struct lh_key *k)
{
	bool last;

	lhi_proc_lock();
	last = __atomic_sub_fetch(&k->refs, 1, __ATOMIC_RELEASE) == 0;
	if (last) {
		urcu_bp_read_lock();
		(void)cds_lfht_del(k->lh->keys, &k->node);
		urcu_bp_read_unlock();
	}
	lhi_proc_unlock();
	if (last) {
		urcu_bp_synchronize_rcu();
		free_key(k);
	}
}
