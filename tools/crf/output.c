/*
 * This file is part of FFmpeg.
 *
 * FFmpeg is free software; you can redistribute it and/or
 * modify it under the terms of the GNU Lesser General Public
 * License as published by the Free Software Foundation; either
 * version 2.1 of the License, or (at your option) any later version.
 *
 * FFmpeg is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
 * Lesser General Public License for more details.
 *
 * You should have received a copy of the GNU Lesser General Public
 * License along with FFmpeg; if not, write to the Free Software
 * Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
 */

#include <stdarg.h>

#include "ffcrf.h"

volatile int caught_signal;
int demuxer_errors;
char refused_option[256], last_error[1024];

static int is_terminal, has_meter;
static struct {
    const char *doing, *what;
    double jobs;
    int first_frame;            ///< of what is done
    int64_t begin, what_begin, told;
} work;

// ---- messages ----

void clear_meter(void)
{
    if (has_meter)
        fprintf(stderr, "\r\033[K");
    has_meter = 0;
}

static void keep_line(char *line, size_t size, const char *format, va_list va)
{
    va_list copy;

    va_copy(copy, va);
    vsnprintf(line, size, format, copy);
    va_end(copy);
    line[strcspn(line, "\n")] = 0;
}

/// Take what libraries say nowhere but in their logs.
static void listen(AVClassCategory category, int level, const char *format, va_list va)
{
    static const char *const refusals[] = {
        "Error parsing option", "Error setting", "Invalid value for", "Unknown option",
    };

    if (category == AV_CLASS_CATEGORY_DEMUXER &&
        (level <= AV_LOG_ERROR || strstr(format, "truncated")))
        demuxer_errors++;
    if (category == AV_CLASS_CATEGORY_ENCODER && level <= AV_LOG_WARNING)
        for (int i = 0; i < FF_ARRAY_ELEMS(refusals); i++)
            if (av_strstart(format, refusals[i], NULL))
                keep_line(refused_option, sizeof(refused_option), format, va);
}

/// Messages without a context are ffcrf's own: --loglevel does not hide them. What av_opt_set()
/// says of its options is said in other words.
static void log_callback(void *avcl, int level, const char *format, va_list va)
{
    const AVClass *c = avcl ? *(const AVClass **)avcl : NULL;

    if (c && !strcmp(c->class_name, "ffcrf"))
        return;
    if (c && c->get_category)
        listen(c->get_category(avcl), level, format, va);
    if (level <= av_log_get_level() || !avcl)
        clear_meter();
    if (!avcl && level <= AV_LOG_ERROR)
        keep_line(last_error, sizeof(last_error), format, va);
    if (avcl)
        av_log_default_callback(avcl, level, format, va);
    else if (level <= AV_LOG_WARNING)
        vfprintf(stderr, format, va);
}

void output_init(void)
{
    is_terminal = isatty(STDERR_FILENO);
    av_log_set_flags(AV_LOG_SKIP_REPEATED);
    av_log_set_callback(log_callback);
}

int fail(int ret, const char *format, ...)
{
    va_list va;

    va_start(va, format);
    av_vlog(NULL, AV_LOG_ERROR, format, va);
    va_end(va);
    return ret;
}

void tell(const char *format, ...)
{
    va_list va;

    clear_meter();
    va_start(va, format);
    vfprintf(stderr, format, va);
    va_end(va);
}

void show_meter(const char *doing, const char *what)
{
    if (is_terminal)
        tell("%s%s", doing, what);
    has_meter = is_terminal;
}

// ---- progress ----

const char *clock_time(char text[16], double seconds)
{
    const int s = av_clipd(seconds + 0.5, 0, 359999);

    if (s < 3600)
        snprintf(text, 16, "%d:%02d", s / 60, s % 60);
    else
        snprintf(text, 16, "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    return text;
}

void progress_begin(const char *doing, double jobs)
{
    work.doing = doing;
    work.what  = NULL;
    work.jobs  = jobs;
    work.begin = work.told = av_gettime_relative();
}

int progress(const char *what, int frames, int nb_frames, double part)
{
    const int64_t now = av_gettime_relative();
    double fps, left;

    if (work.what != what) {
        work.what        = what;
        work.what_begin  = now;
        work.first_frame = frames;
        work.told        = is_terminal ? 0 : work.told;
    }
    if (caught_signal)
        return AVERROR_EXIT;
    if (now - work.told < (is_terminal ? 250000 : 10000000))
        return 0;
    work.told = now;
    fps  = (frames - work.first_frame) * 1e6 / FFMAX(1, now - work.what_begin);
    left = (now - work.begin) / 1e6 * (work.jobs / part - 1);
    clear_meter();
    fprintf(stderr, "%s%s, frame %d of %d, %.1f fps, ETA %s%s", work.doing, what, frames,
            FFMAX(frames, nb_frames), fps, part > 0 ? CLOCK(left) : "?", is_terminal ? "" : "\n");
    fflush(stderr);
    has_meter = is_terminal;
    return 0;
}

// ---- JSON ----

/// Bytes that are no UTF-8, as names of files may have, become U+FFFD: JSON cannot hold them.
static void print_string(AVBPrint *b, const char *value)
{
    const uint8_t *next = value, *end = next + strlen(value);

    av_bprint_chars(b, '"', 1);
    while (next < end) {
        const uint8_t *begin = next;
        int32_t code;

        if (av_utf8_decode(&code, &next, end, AV_UTF8_FLAG_ACCEPT_NON_CHARACTERS) < 0)
            av_bprintf(b, "\xef\xbf\xbd");
        else if (code == '"' || code == '\\')
            av_bprintf(b, "\\%c", code);
        else if (code < 32)
            av_bprintf(b, "\\u%04x", code);
        else
            av_bprint_append_data(b, begin, next - begin);
    }
    av_bprint_chars(b, '"', 1);
}

void json_write(const char *type, const JSONField *field)
{
    AVBPrint b;

    av_bprint_init(&b, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprintf(&b, "{\"type\": \"%s\"", type);
    for (; field->key; field++) {
        av_bprintf(&b, ", \"%s\": ", field->key);
        if (field->string)
            print_string(&b, field->string);
        else if (field->word || !isfinite(field->number))
            av_bprintf(&b, "%s", field->word ? field->word : "null");
        else
            av_bprintf(&b, "%.10g", field->number);
    }
    printf("%s}\n", b.str);
    fflush(stdout);
    av_bprint_finalize(&b, NULL);
}
