/* SPDX-License-Identifier: MIT */
/* Keys by name, and opened keys.  See key.h. */
#include <errno.h>
#include "base/error.h"
#include "op/acquire_target.h"
#include "proc/opened_keys.h"

int
lh_key_open(struct lh *lh, const char *key, uint32_t flags,
    struct lh_key **out)
{
	struct lhi_key_name n;
	struct lhi_ref ref;
	struct lh_key *k;
	int error = lhi_key_name_check(lh, key, flags, &n);

	if (error != 0)
		return error;
	if (out == NULL)
		return lhi_fail(-EINVAL, "nowhere to put the handle (NULL)");
	k = lhi_opened_keys_find(lh, &n);
	if (k == NULL) {
		error = lhi_key_name_resolve(lh, &n, flags, &ref);
		if (error != 0)
			return error;
		k = lhi_opened_keys_add(lh, &n, &ref);
		if (k == NULL)
			return lhi_fail(-ENOMEM, "out of memory");
	}
	*out = k;
	return 0;
}

int
lh_key_close(struct lh_key *key)
{
	int error;

	if (key == NULL)
		return lhi_fail(-EINVAL, "no key was given (NULL)");
	error = lhi_own_handle(key->lh);
	if (error == 0)
		lhi_opened_keys_drop(key);
	return error;
}

int
lh_key_create(struct lh *lh, const char *key)
{
	struct lhi_key_name n;
	int error = lhi_key_name_check(lh, key, 0, &n);

	return error != 0 ? error : lhi_key_name_keep(lh, &n);
}

const char *
lh_key_name(const struct lh_key *key)
{
	return key == NULL || key->lh == &lhi_closed_lh ? NULL : key->name;
}
