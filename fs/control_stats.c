/* control_stats.c: what the root's .sbxfs/stats.json says of the daemon. */
#include "control.h"

#include "in.h"

#include "base/json.h"

#include <time.h>

static void add_engine(cJSON *json, struct sbx_fs *fs)
{
	struct sbx_engine_counters counters;
	cJSON *engine = cJSON_AddObjectToObject(json, "engine");
	sbx_engine_counters(fs->engine, &counters);
	sbx_json_add_text(engine, "endpoint", sbx_engine_endpoint(fs->engine)->url);
	sbx_json_add_text(engine, "server", sbx_engine_server(fs->engine));
	sbx_json_add_text(engine, "api_version", sbx_engine_api_version(fs->engine));
	cJSON_AddBoolToObject(engine, "answers", fs->engine_up);
	if (fs->engine_trouble)
		sbx_json_add_text(engine, "trouble", fs->engine_trouble);
	sbx_json_add_int(engine, "requests", (int64_t)counters.requests);
	sbx_json_add_int(engine, "failures", (int64_t)counters.failures);
	sbx_json_add_int(engine, "bytes_in", (int64_t)counters.bytes_in);
	sbx_json_add_int(engine, "bytes_out", (int64_t)counters.bytes_out);
	sbx_json_add_int(engine, "pauses", (int64_t)counters.pauses);
	sbx_json_add_int(engine, "archive_heads", (int64_t)counters.archive_heads);
	sbx_json_add_int(engine, "archive_gets", (int64_t)counters.archive_gets);
	sbx_json_add_int(engine, "archive_puts", (int64_t)counters.archive_puts);
}

static void add_freezes(cJSON *json)
{
	struct sbx_window_counters counters;
	cJSON *freezes = cJSON_AddObjectToObject(json, "freezes");
	sbx_window_counters(&counters);
	sbx_json_add_int(freezes, "windows", (int64_t)counters.windows);
	sbx_json_add_int(freezes, "frozen_ms", (int64_t)counters.frozen_ms);
	sbx_json_add_int(freezes, "longest_ms", (int64_t)counters.longest_ms);
	sbx_json_add_int(freezes, "joined", (int64_t)counters.joined);
	sbx_json_add_int(freezes, "refused", (int64_t)counters.refused);
}

static void add_requests(cJSON *json, const struct sbx_fs *fs)
{
	const struct sbx_fs_counters *counters = &fs->counters;
	cJSON *requests = cJSON_AddObjectToObject(json, "requests");
	sbx_json_add_int(requests, "lookups", (int64_t)counters->lookups);
	sbx_json_add_int(requests, "opens", (int64_t)counters->opens);
	sbx_json_add_int(requests, "stale_opens", (int64_t)counters->stale_opens);
	sbx_json_add_int(requests, "passed_through", (int64_t)counters->passed_through);
	sbx_json_add_int(requests, "reads", (int64_t)counters->reads);
	sbx_json_add_int(requests, "bytes_read", (int64_t)counters->bytes_read);
	sbx_json_add_int(requests, "interrupted", (int64_t)counters->interrupted);
	sbx_json_add_int(requests, "timed_out", (int64_t)counters->timed_out);
	sbx_json_add_int(requests, "waiting", fs->requests.parked_count);
	sbx_json_add_int(requests, "stats_asked", (int64_t)counters->stats);
	sbx_json_add_int(requests, "listings_asked", (int64_t)counters->listings);
	sbx_json_add_int(requests, "transfers", (int64_t)counters->transfers);
	sbx_json_add_int(requests, "transfers_cancelled", (int64_t)counters->cancelled);
}

static void add_cache(cJSON *json, const struct sbx_fs *fs)
{
	struct sbx_spool_counts counts;
	cJSON *cache = cJSON_AddObjectToObject(json, "cache");
	sbx_spools_counts(fs->spools, &counts);
	sbx_json_add_int(cache, "budget", fs->options->cache_budget);
	sbx_json_add_int(cache, "file_bytes", (int64_t)counts.file_bytes);
	sbx_json_add_int(cache, "memory_bytes", (int64_t)counts.memory_bytes);
	sbx_json_add_int(cache, "kept", (int64_t)counts.kept);
	sbx_json_add_int(cache, "evicted", (int64_t)counts.evicted);
	sbx_json_add_int(cache, "hits", (int64_t)fs->counters.spool_hits);
}

struct cJSON *sbx_control_stats(struct sbx_fs *fs)
{
	cJSON *json = cJSON_CreateObject();
	sbx_json_add_text(json, "version", SBX_VERSION);
	sbx_json_add_int(json, "uptime_s", (sbx_clock_ms() - fs->started_ms) / 1000);
	if (fs->options->config_path)
		sbx_json_add_text(json, "config", fs->options->config_path);
	sbx_json_add_int(json, "sandboxes", HASH_CNT(hh_name, fs->views.by_name));
	sbx_json_add_int(json, "nodes", HASH_COUNT(fs->nodes.by_id));
	sbx_json_add_int(json, "handles", HASH_COUNT(fs->handles.by_id));
	sbx_json_add_int(json, "workers", sbx_workers_count(fs->workers));
	add_engine(json, fs);
	add_freezes(json);
	add_requests(json, fs);
	add_cache(json, fs);
	struct cJSON *in = sbx_in_stats(fs);
	if (in)
		cJSON_AddItemToObject(json, "in", in);
	return json;
}
