/*
 * directory.c: the engine's listings of directories; see tree.h.
 *
 * A listing that came as an archive knows times to the second only: a file's own getattr or open
 * asks for the rest. It also brings the listings of what lies deeper, which are then known as if
 * each had been asked for. And it is asked for anew where it costs less than the single questions
 * that keep coming about what is in it.
 */
#include "tree.h"

enum {
	DIRECTORIES_KEPT = 256,
	DIRECTORIES_MAX = 4096,
	/* Single questions within QUESTIONS_MS that are worth a listing: a paused Podman container
	 * takes 67 ms for each and 300 for an archive, Docker 1 and 120. */
	QUESTIONS_MS = 2000,
	QUESTIONS_DOCKER = 32,
	QUESTIONS_PODMAN = 2,
	/* Or fewer that have taken this long already: each may be a window, a file's archive and
	 * the guest's own half of the time, 100 ms and more. */
	QUESTIONS_SLOW = 4,
	SLOW_MS = 400,
	DEAR_MS = 60000, /* how long it is believed that an archive is too large */
};

struct sbx_directory {
	char *path;
	char *root; /* whose listing brought this one; NULL: its own */
	int64_t questions_ms;
	unsigned questions;
	int64_t dear_ms; /* when its archive was too large for a glance; 0: never */
	struct sbx_snapshot *snapshot;
	struct sbx_job *job;
	struct sbx_waiters waiters;  /* for the listing */
	struct sbx_waiters glancers; /* for what a glance, or a listing, tells */
	UT_hash_handle hh;
};

struct list_job {
	struct sbx_job job;
	char *path;
	struct sbx_snapshot *snapshot;
	bool glance;
};

struct sbx_snapshot *sbx_snapshot_create(bool guest)
{
	struct sbx_snapshot *snapshot = sbx_alloc(sizeof(*snapshot));
	snapshot->refs = 1;
	snapshot->guest = guest;
	snapshot->when_ms = sbx_clock_ms();
	return snapshot;
}

void sbx_snapshot_add(struct sbx_snapshot *snapshot, const char *name)
{
	struct sbx_listing *listing = &snapshot->listing;
	listing->rows =
		sbx_realloc_array(listing->rows, listing->count + 1, sizeof(*listing->rows));
	listing->rows[listing->count++] = (struct sbx_entry){ .name = sbx_strdup(name) };
}

void sbx_snapshot_ref(struct sbx_snapshot *snapshot)
{
	snapshot->refs++;
}

void sbx_snapshot_unref(struct sbx_snapshot *snapshot)
{
	if (!snapshot || --snapshot->refs)
		return;
	sbx_listing_finish(&snapshot->listing);
	free(snapshot);
}

const struct sbx_entry *sbx_snapshot_find(const struct sbx_snapshot *snapshot, const char *name)
{
	size_t low = 0, high = snapshot->listing.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(snapshot->listing.rows[middle].name, name);
		if (order == 0)
			return &snapshot->listing.rows[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static struct sbx_directory *find(struct sbx_view *view, const char *path)
{
	struct sbx_directory *directory = NULL;
	HASH_FIND_STR(view->directories, path, directory);
	return directory;
}

static void free_directory(struct sbx_view *view, struct sbx_directory *directory)
{
	HASH_DEL(view->directories, directory);
	sbx_snapshot_unref(directory->snapshot);
	free(directory->path);
	free(directory->root);
	free(directory);
}

static bool idle(const struct sbx_directory *directory)
{
	return !directory->job && !directory->waiters.first && !directory->glancers.first;
}

static bool holds(const struct sbx_view *view, const struct sbx_directory *directory)
{
	return directory->snapshot && sbx_tree_fresh(view->fs, directory->snapshot->when_ms);
}

static void trim(struct sbx_view *view)
{
	size_t count = HASH_COUNT(view->directories);
	if (count < DIRECTORIES_KEPT)
		return;
	struct sbx_directory *directory, *next;
	HASH_ITER(hh, view->directories, directory, next)
	if (idle(directory) && (count >= DIRECTORIES_MAX || !holds(view, directory)))
		free_directory(view, directory);
}

static void abandoned(struct sbx_waiters *waiters)
{
	struct sbx_directory *directory = waiters->data;
	if (directory->job && !directory->waiters.first && !directory->glancers.first)
		sbx_job_cancel(directory->job);
}

static struct sbx_directory *add(struct sbx_view *view, const char *path)
{
	struct sbx_directory *directory = sbx_alloc(sizeof(*directory));
	directory->path = sbx_strdup(path);
	directory->waiters.abandoned = directory->glancers.abandoned = abandoned;
	directory->waiters.data = directory->glancers.data = directory;
	HASH_ADD_KEYPTR(hh, view->directories, directory->path, strlen(directory->path), directory);
	return directory;
}

static struct sbx_directory *get(struct sbx_view *view, const char *path)
{
	struct sbx_directory *directory = find(view, path);
	if (directory)
		return directory;
	trim(view);
	return add(view, path);
}

struct sbx_snapshot *sbx_directory_known(
	struct sbx_view *view, const char *path, int64_t max_age_ms)
{
	const struct sbx_directory *directory = find(view, path);
	if (!directory || !directory->snapshot)
		return NULL;
	return sbx_clock_ms() - directory->snapshot->when_ms <= max_age_ms ? directory->snapshot
									   : NULL;
}

static int run_list(struct sbx_job *job, struct sbx_error *err)
{
	struct list_job *list = (struct list_job *)job;
	struct sbx_plane *plane = job->view->plane;
	list->snapshot = sbx_snapshot_create(true);
	list->snapshot->listed_s = plane->ops->now_s(plane);
	int (*list_or_glance)(struct sbx_plane * plane, const char *path,
		const struct sbx_call *call, struct sbx_listing *out, struct sbx_error *err) =
		list->glance ? plane->ops->glance : plane->ops->list;
	int rc = list_or_glance(plane, list->path, &job->call, &list->snapshot->listing, err);
	if (rc)
		return rc;
	list->snapshot->when_ms = sbx_clock_ms();
	return 0;
}

/* Small contents that the listing brought serve the next open, unless the guest may yet write
 * another within the second that is all that is known of their time. */
static void seed(struct sbx_view *view, const char *path, struct sbx_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->listing.count; i++) {
		struct sbx_entry *row = &snapshot->listing.rows[i];
		if (!row->content)
			continue;
		cleanup_free char *full = sbx_path_join(path, row->name);
		bool settled = row->st.mtime_ns >= 0 || sbx_settled(&row->st, snapshot->listed_s);
		if (settled && row->st.size &&
			!view->gone) /* an empty one needs no spool before it is opened */
			sbx_spool_seed(view->fs->spools,
				sbx_spool_key(view->sandbox.container.id, full, &row->st),
				row->content, (size_t)row->st.size);
		free(row->content);
		row->content = NULL;
	}
}

static void keep(
	struct sbx_view *view, const char *path, const char *root, struct sbx_snapshot *snapshot);

/* The listing that came with row's directory. A guest may have made more of them than are kept. */
static void keep_below(struct sbx_view *view, const char *path, const char *root,
	const struct sbx_snapshot *snapshot, struct sbx_entry *row)
{
	cleanup_free char *full = sbx_path_join(path, row->name);
	struct sbx_snapshot *below = sbx_snapshot_create(true);
	below->when_ms = snapshot->when_ms;
	below->listed_s = snapshot->listed_s;
	below->listing = *row->children;
	free(steal(&row->children));
	if (find(view, full) || HASH_COUNT(view->directories) < DIRECTORIES_MAX)
		keep(view, full, root, below);
	else
		sbx_snapshot_unref(below);
}

/* The listing is the directory's newest now, and so are those that came with it. Frees no
 * directory: those further up the stack are among them. */
static void keep(
	struct sbx_view *view, const char *path, const char *root, struct sbx_snapshot *snapshot)
{
	struct sbx_directory *directory = find(view, path);
	if (!directory)
		directory = add(view, path);
	seed(view, path, snapshot);
	sbx_snapshot_unref(directory->snapshot);
	directory->snapshot = snapshot;
	free(directory->root);
	directory->root = root ? sbx_strdup(root) : NULL;
	sbx_snapshot_ref(snapshot);
	for (size_t i = 0; i < snapshot->listing.count; i++) {
		struct sbx_entry *row = &snapshot->listing.rows[i];
		if (row->children)
			keep_below(view, path, root ? root : path, snapshot, row);
	}
	sbx_snapshot_unref(snapshot);
}

static int64_t kept_ms(const struct sbx_fs *fs)
{
	int64_t holds_ms = fs->options->entry_timeout_ms;
	return holds_ms > SBX_LISTING_KEPT_MS ? holds_ms : SBX_LISTING_KEPT_MS;
}

static void plan_sweep(struct sbx_fs *fs)
{
	if (fs->listings_due_ms)
		return;
	fs->listings_due_ms = sbx_clock_ms() + kept_ms(fs);
	sbx_loop_wake_at(fs->loop, fs->listings_due_ms);
}

static void start(struct sbx_view *view, struct sbx_directory *directory, bool glance);

/* A listing that is refused, with why, until one succeeds. */
static void note_refusal(struct sbx_view *view, const struct list_job *list)
{
	int result = list->job.result;
	bool refused = result == -EOPNOTSUPP || result == -EFBIG;
	if (view->gone || (result && !refused))
		return;
	cleanup_free char *path = sbx_printf("%s/", list->path);
	sbx_refused_reason(view, path, refused ? list->job.err.message : NULL);
}

static void list_done(struct sbx_job *job)
{
	struct list_job *list = (struct list_job *)job;
	struct sbx_view *view = job->view;
	struct sbx_directory *directory = find(view, list->path);
	if (list->glance && job->result == 1)
		directory->dear_ms = sbx_clock_ms();
	note_refusal(view, list);
	if (job->result == 0) {
		trim(view); /* room for what came with it; one with a job is never freed */
		keep(view, list->path, NULL, steal(&list->snapshot));
		plan_sweep(view->fs);
	}
	directory->job = NULL;
	if (job->result == -ECANCELED && !idle(directory)) {
		start(view, directory, !directory->waiters.first);
	} else {
		/* A glance that was not enough says nothing: who waits for it asks by itself. */
		sbx_waiters_resume(&directory->glancers, 0, NULL);
		if (list->glance && job->result && directory->waiters.first)
			start(view, directory, false);
		else
			sbx_waiters_resume(&directory->waiters, job->result, &job->err);
	}
	sbx_snapshot_unref(list->snapshot);
	free(list->path);
	sbx_job_free(job);
}

static void start(struct sbx_view *view, struct sbx_directory *directory, bool glance)
{
	struct list_job *list =
		sbx_job_create(view->fs, view, sizeof(*list), view->fs->options->deadline_ms);
	list->job.run = run_list;
	list->job.done = list_done;
	list->path = sbx_strdup(directory->path);
	list->glance = glance;
	directory->job = &list->job;
	view->fs->counters.listings++;
	sbx_job_start(&list->job);
}

void sbx_directory_wait(
	struct sbx_request *request, struct sbx_view *view, const char *path, sbx_resume_fn resume)
{
	struct sbx_directory *directory = get(view, path);
	sbx_request_park(request, &directory->waiters, resume);
	if (!directory->job)
		start(view, directory, false);
}

bool sbx_directory_glance(
	struct sbx_request *request, struct sbx_view *view, const char *path, sbx_resume_fn resume)
{
	const struct sbx_directory *known = find(view, path), *root = NULL;
	if (known && known->root)
		root = find(view, known->root);
	/* The one that brought this listing, unless it does so no more. */
	cleanup_free char *whole = sbx_strdup(root && !holds(view, root) ? root->path : path);
	struct sbx_directory *directory = get(view, whole);
	int64_t now_ms = sbx_clock_ms();
	if (now_ms - directory->questions_ms > QUESTIONS_MS) {
		directory->questions_ms = now_ms;
		directory->questions = 0;
	}
	directory->questions++;
	bool slow = directory->questions >= QUESTIONS_SLOW &&
		    now_ms - directory->questions_ms >= SLOW_MS;
	bool dear = directory->dear_ms && now_ms - directory->dear_ms < DEAR_MS;
	unsigned enough = view->fs->podman ? QUESTIONS_PODMAN : QUESTIONS_DOCKER;
	if (!view->plane || !view->plane->ops->glance || dear ||
		(directory->questions < enough && !slow))
		return false;
	directory->questions = 0;
	sbx_request_park(request, &directory->glancers, resume);
	if (!directory->job)
		start(view, directory, true);
	return true;
}

static char *above(const char *path)
{
	const char *slash = strrchr(path, '/');
	return sbx_strndup(path, slash ? (size_t)(slash - path) : 0);
}

bool sbx_directory_glance_above(struct sbx_request *request, sbx_resume_fn resume)
{
	const struct sbx_node *node = request->node;
	struct sbx_view *view = node->view;
	cleanup_free char *directory = above(node->path);
	/* What is declared itself has no listed directory above it. */
	return sbx_place_of(&view->sandbox, node->path, NULL) == SBX_PLACE_INSIDE &&
	       sbx_directory_glance(request, view, directory, resume);
}

struct sbx_node *sbx_directory_node_now(const struct sbx_request *request)
{
	const struct sbx_node *node = request->node;
	struct sbx_view *view = node->view;
	cleanup_free char *directory = above(node->path);
	const struct sbx_snapshot *snapshot =
		sbx_directory_known(view, directory, view->fs->options->entry_timeout_ms);
	const char *slash = strrchr(node->path, '/');
	const struct sbx_entry *row =
		snapshot && slash ? sbx_snapshot_find(snapshot, slash + 1) : NULL;
	return row ? sbx_tree_node(
			     view, node->path, &row->st, snapshot->when_ms, snapshot->listed_s)
		   : NULL;
}

void sbx_directories_drop(struct sbx_view *view, const char *path)
{
	size_t length = strlen(path);
	struct sbx_directory *directory, *next;
	HASH_ITER(hh, view->directories, directory, next)
	{
		/* What is below may have come with its listing. */
		if (strncmp(directory->path, path, length) != 0 ||
			(directory->path[length] && directory->path[length] != '/'))
			continue;
		sbx_snapshot_unref(directory->snapshot);
		directory->snapshot = NULL;
	}
}

/* Whether one is left that is not old. */
static bool drop_old(struct sbx_view *view, int64_t now_ms)
{
	bool left = false;
	for (struct sbx_directory *one = view->directories; one; one = one->hh.next) {
		if (!one->snapshot)
			continue;
		if (!idle(one) || now_ms - one->snapshot->when_ms <= kept_ms(view->fs)) {
			left = true;
			continue;
		}
		sbx_snapshot_unref(one->snapshot);
		one->snapshot = NULL;
	}
	return left;
}

int64_t sbx_directories_sweep(struct sbx_fs *fs, int64_t now_ms)
{
	if (!fs->listings_due_ms)
		return INT64_MAX;
	if (now_ms < fs->listings_due_ms)
		return fs->listings_due_ms;
	bool left = false;
	for (struct sbx_view *view = fs->views.by_id; view; view = view->hh.next)
		left = drop_old(view, now_ms) || left;
	fs->listings_due_ms = left ? now_ms + kept_ms(fs) : 0;
	return left ? fs->listings_due_ms : INT64_MAX;
}

void sbx_directories_free(struct sbx_view *view)
{
	struct sbx_directory *directory, *next;
	HASH_ITER(hh, view->directories, directory, next)
	free_directory(view, directory);
}
