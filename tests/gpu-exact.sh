# shellcheck shell=bash disable=SC2086,SC2154
# bliinds_cuda gives what bliinds gives, all features to the last digit, of 20,000 frames: noise of
# strengths 1 to 40, gradients, text, drawn pictures and the clips. tests/gpu.sh reads this.
# SPDX-License-Identifier: LGPL-2.1-or-later

sizes="70:46/1 128:96/1 322:182/1 480:270/1 512:512/1 640:272/1 854:480/2 1280:720/3 1920:1080/6 3840:2160/12"

# A source in one format, at all sizes; prints frames, 1 if they differ, and the name.
exact_source() { # name|input|filter|format
    local name input filter format log graph='' maps='' size id n twice=
    IFS='|' read -r name input filter format <<< "$1"
    log=$(mktemp -d -p "$tmp")
    # the way back from twice the size leaves samples of 10 bits between those of 8
    [[ $format != *10* ]] || twice=",scale=2*iw:2*ih:flags=bilinear"
    for size in $sizes; do
        n=$((${PART:-24} / ${size#*/})) size=${size%/*} id=${size/:/x}
        n=$((n > 0 ? n : 1))
        echo "$id $n" >> "$log/sizes"
        graph+=";[s$id]trim=end_frame=$n,scale=$size:flags=bilinear,$filter$twice,scale=$size:flags=bilinear,format=$format,split[a$id][b$id]"
        graph+=";[a$id]hwupload,bliinds_cuda=features=1:f=$log/$id.gpu[c$id];[b$id]bliinds=features=1:f=$log/$id.cpu[d$id]"
        maps+=" -map [c$id] -f null - -map [d$id] -f null -"
    done
    timeout 500 "$ffmpeg" -nostdin -v error -init_hw_device cuda $input -filter_complex \
        "[0:v]split=$(wc -l < "$log/sizes")$(sed 's/\(.*\) .*/[s\1]/' "$log/sizes" | tr -d '\n')$graph" \
        $maps > "$log/err" 2>&1 || echo "exit status $?" >> "$log/err"
    while read -r id n; do
        if [ "$(grep -c "" "$log/$id.cpu")" = "$n" ] && cmp -s "$log/$id.cpu" "$log/$id.gpu"; then
            echo "$n 0"
        else
            echo "$n 1 $name $id $format: $(cmp "$log/$id.cpu" "$log/$id.gpu" 2>&1); $(tail -n 1 "$log/err")"
        fi
    done < "$log/sizes"
    rm -rf "$log"
}

exact() { # clips
    local strength drawn clip seed=${SEED:-0}
    {
        for strength in {1..40}; do
            echo "noise $strength|-f lavfi -i color=gray:s=640x360:r=25|format=yuv444p,noise=all_seed=$((seed * 100 + strength)):alls=$strength:allf=t"
        done
        for drawn in gradients=s=960x540:seed=$((seed + 1)) mandelbrot=s=960x540 testsrc2=s=960x540 testsrc=s=960x540 \
                     smptebars=s=960x540 rgbtestsrc=s=960x540 life=s=320x180:seed=$((seed + 7)):mold=10; do
            echo "${drawn%%=*}|-f lavfi -i $drawn|null"
            echo "${drawn%%=*} with noise|-f lavfi -i $drawn|format=yuv444p,noise=all_seed=$seed:alls=3:allf=t"
        done
        echo "ramps|-f lavfi -i color=s=256x256|geq=lum='mod(X*(1+N)+Y*N,256)':cb=128:cr=128"
        for clip; do
            printf '%s|-i %s|null\n%s sharpened|-i %s|unsharp\n' "$clip" "$clip" "$clip" "$clip"
        done
    } | sed 'h;s/$/|nv12/p;g;s/$/|p010le/' > "$tmp/jobs"
    export -f exact_source
    export ffmpeg tmp sizes
    # shellcheck disable=SC2016
    xargs -d '\n' -P "$(nproc)" -n 1 bash -c 'exact_source "$1"' - < "$tmp/jobs" > "$tmp/results"
    grep -v ' 0$' "$tmp/results" > "$tmp/diff"
    if [ -s "$tmp/results" ] && [ ! -s "$tmp/diff" ]; then
        pass "bliinds_cuda: $(awk '{ n += $1 } END { print n }' "$tmp/results") frames, all features to the last digit"
    else
        fail "bliinds_cuda: $(wc -l < "$tmp/diff") of $(wc -l < "$tmp/results") sources, sizes and formats differ" "$tmp/diff"
    fi
}
