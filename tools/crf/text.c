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

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "libavutil/common.h"
#include "libavutil/time.h"

#include "ffcrf.h"

const char *last_error;

static struct {
    const char *doing;
    double jobs;
    int64_t begin, shown;
    int has_meter;              ///< there is a line that the next one replaces
} work;

int fail_with(const char *message)
{
    last_error = message;
    tell("%s\n", message);
    return -1;
}

void *checked(void *memory)
{
    if (!memory) {
        tell("There is no memory left.\n");
        exit(2);
    }
    return memory;
}

// ---- progress ----

const char *clock_time(double seconds)
{
    const int s = av_clipd(seconds + 0.5, 0, 359999);

    return s < 3600 ? text("%d:%02d", s / 60, s % 60)
                    : text("%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
}

void progress_begin(const char *doing, double jobs)
{
    work.doing = doing;
    work.jobs  = jobs;
    work.begin = work.shown = av_gettime_relative();
}

void progress_show(int frames, int nb_frames)
{
    const int is_terminal = isatty(STDERR_FILENO);
    const int64_t now     = av_gettime_relative();
    const double seconds  = (now - work.begin) / 1e6;

    if (now - work.shown < (is_terminal ? 250000 : 10000000))
        return;
    work.shown = now;
    nb_frames  = FFMAX(frames, nb_frames);
    tell("%sframe %d of %d, %.1f fps, ETA %s%s", work.doing, frames, nb_frames, frames / seconds,
         clock_time(seconds * (work.jobs * nb_frames / frames - 1)), is_terminal ? "" : "\n");
    work.has_meter = is_terminal;
}

void progress_end(void)
{
    if (work.has_meter)
        fprintf(stderr, "\r\033[K");
    work.has_meter = 0;
}

// ---- JSON ----

/// Bytes that are no UTF-8, as names of files may have, become U+FFFD: JSON cannot hold them.
static void print_string(const char *value)
{
    const uint8_t *next = value, *end = next + strlen(value);

    putchar('"');
    while (next < end) {
        const uint8_t *begin = next;
        int32_t code;

        if (av_utf8_decode(&code, &next, end, AV_UTF8_FLAG_ACCEPT_NON_CHARACTERS) < 0)
            printf("\xef\xbf\xbd");
        else if (code == '"' || code == '\\' || code < 32)
            printf("\\u%04x", code);
        else
            fwrite(begin, 1, next - begin, stdout);
    }
    putchar('"');
}

void json_write(const char *type, const JSONField *field)
{
    printf("{\"type\": \"%s\"", type);
    for (; field->key; field++) {
        const double n = field->number;

        printf(", \"%s\": ", field->key);
        if (field->string)
            print_string(field->string);
        else if (field->word || !isfinite(n))
            printf("%s", field->word ? field->word : "null");
        else
            printf("%.*g", n == rint(n) ? 15 : 10, n);
    }
    printf("}\n");
    fflush(stdout);
}
