// Draws the charts that the page's data describes, and what is asked for of their time.
// SPDX-License-Identifier: LGPL-2.1-or-later
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const get = id => document.getElementById(id);
const COLUMNS = 1000, STEPS = [.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400];
const graphs = [];

function clock(x, digits) {
    const whole = Math.round(Math.max(x, 0) * 10 ** digits), minutes = Math.floor(whole / 60 / 10 ** digits);
    const rest = (whole / 10 ** digits - minutes * 60).toFixed(digits);
    return Math.floor(minutes / 60) + ':' + String(minutes % 60).padStart(2, '0') + ':' +
           rest.padStart(digits ? digits + 3 : 2, '0');
}

function colours() {
    const style = getComputedStyle(document.documentElement);
    return { axisLineColor: style.getPropertyValue('--soft'), gridLineColor: style.getPropertyValue('--line') };
}

// Lines across a chart, and its points with a number.
function paint(canvas, area, graph, spec) {
    const soft = colours().axisLineColor;
    canvas.save();
    canvas.font = '11px system-ui, sans-serif';
    for (const line of spec.lines || []) {
        const x = line.x === undefined ? null : graph.toDomXCoord(line.x), y = line.y === undefined ? null : graph.toDomYCoord(line.y);
        canvas.strokeStyle = canvas.fillStyle = line.colour || soft;
        canvas.setLineDash([5, 4]);
        canvas.beginPath();
        canvas.moveTo(x ?? area.x, y ?? area.y);
        canvas.lineTo(x ?? area.x + area.w, y ?? area.y + area.h);
        canvas.stroke();
        if (line.text)
            canvas.fillText(line.text, area.x + 4, y - 4);
    }
    canvas.setLineDash([]);
    canvas.textAlign = 'center';
    for (const mark of spec.marks || []) {
        const x = graph.toDomXCoord(mark.x), y = graph.toDomYCoord(mark.y);
        if (x < area.x || x > area.x + area.w)
            continue;
        canvas.fillStyle = canvas.strokeStyle = mark.colour;
        canvas.beginPath();
        canvas.arc(x, y, mark.ring ? 7 : 3, 0, 7);
        mark.ring ? canvas.stroke() : canvas.fill();
        canvas.fillText(mark.text, mark.ring ? x + 17 : x, mark.ring ? y + 4 : spec.down ? y + 16 : y - 9);
    }
    canvas.restore();
}

function draw(spec, rows, place, options) {
    const box = get(spec.id), readout = box.nextElementSibling;
    const value = v => v[0] === v[2] ? v[1].toFixed(spec.digits) :
        v[1].toFixed(spec.digits) + ' (' + v[0].toFixed(spec.digits) + ' to ' + v[2].toFixed(spec.digits) + ')';
    const graph = new Dygraph(box, rows, {
        labels: ['x', ...spec.curves.map((curve, i) => String(i))],
        colors: spec.curves.map(curve => curve.colour),
        legend: 'never', connectSeparatedPoints: true, animatedZooms: false, strokeWidth: 1.4, highlightCircleSize: 4,
        xLabelHeight: 18, yLabelWidth: 18, rightGap: 12, ...colours(),
        underlayCallback: (canvas, area, graph) => (options.paint || paint)(canvas, area, graph, spec),
        highlightCallback: (event, x, points, row) => {
            readout.textContent = place(x) + ': ' + spec.curves.map((curve, i) => {
                const v = [graph.getValue(row, i + 1)].flat();
                return v[0] === null || v[0] !== v[0] ? '' :
                    (spec.curves.length > 1 ? curve.name + ' ' : '') + value(v.length > 1 ? v : [v[0], v[0], v[0]]);
            }).filter(Boolean).join(', ');
        },
        unhighlightCallback: () => { readout.textContent = ''; },
        ...options,
    });
    graphs.push(graph);
    return graph;
}

async function unpack(text, type) {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new type(await new Response(stream).arrayBuffer());
}

// First of the sorted numbers that is not less.
function bound(numbers, x) {
    let low = 0, high = numbers.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (numbers[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Rows of the time from begin to end: of each frame, or of columns with the lowest, the mean and the highest.
function rowsOf(chart, begin, end) {
    const rows = new Map(), n = chart.curves.length;
    const ranges = chart.curves.map(({ times }) => [bound(times, begin), bound(times, end)]);
    const width = ranges.some(([first, last]) => last - first > 2 * COLUMNS) ? (end - begin) / COLUMNS : 0;
    chart.curves.forEach(({ times, low, mean, high }, c) => {
        for (let [i, last] = ranges[c]; i < last;) {
            const x = width ? begin + (Math.floor((times[i] - begin) / width) + .5) * width : times[i];
            let least = Infinity, most = -Infinity, sum = 0, count = 0;
            do {
                if (mean[i] === mean[i]) {
                    least = Math.min(least, low[i]);
                    most = Math.max(most, high[i]);
                    sum += mean[i];
                    count++;
                }
            } while (++i < last && width && times[i] < x + width / 2);
            if (!rows.has(x))
                rows.set(x, [x, ...Array(n).fill(null)]);
            rows.get(x)[c + 1] = count ? [least, sum / count, most] : [NaN, NaN, NaN];
        }
    });
    return [...rows.values()].sort((a, b) => a[0] - b[0]);
}

// Bars below the curves where frames have no valid score.
function paintGaps(canvas, area, graph, spec) {
    const [begin, end] = graph.xAxisRange();
    spec.curves.forEach(({ times, mean, colour }, c) => {
        const last = bound(times, end);
        canvas.fillStyle = colour;
        for (let i = bound(times, begin); i < last; i++)
            if (mean[i] !== mean[i]) {
                const x = graph.toDomXCoord(times[i]);
                canvas.fillRect(x, area.y + area.h - 6 * (c + 1), Math.max(graph.toDomXCoord(times[i + 1] ?? end) - x, 1), 5);
            }
    });
    paint(canvas, area, graph, spec);
}

async function drawTime({ charts, times, begin, end, isTime }) {
    times = await Promise.all(times.map(text => unpack(text, Float64Array)));
    for (const at of times) {
        let sum = 0;
        at.forEach((difference, i) => { at[i] = (sum += difference) / 1e6; });
    }
    for (const chart of charts)
        for (const curve of chart.curves) {
            curve.times = times[curve.log];
            curve.mean = await unpack(curve.mean, Float32Array);
            curve.low = curve.low ? await unpack(curve.low, Float32Array) : curve.mean;
            curve.high = curve.high ? await unpack(curve.high, Float32Array) : curve.mean;
        }
    let view = [begin, end], waiting = null;
    const whole = charts.map(chart => rowsOf(chart, begin, end + 1e-6));
    const digits = () => view[1] - view[0] < 20 ? 2 : 0;
    const place = x => isTime ? clock(x, digits() && 3) : 'frame ' + Math.round(x);

    function ticker(from, to, pixels, options, graph, values) {
        if (!isTime)
            return Dygraph.numericTicks(from, to, pixels, options, graph, values);
        const step = STEPS.find(step => (to - from) / step <= pixels / 90) || 86400;
        const ticks = [];
        for (let i = Math.ceil(from / step); i * step <= to; i++)
            ticks.push({ v: i * step, label: clock(i * step, step < .1 ? 2 : step < 1 ? 1 : 0) });
        return ticks;
    }

    const mine = charts.map((chart, n) => draw(chart, whole[n], place, {
        customBars: true, fillAlpha: .3, valueRange: chart.range, dateWindow: view,
        paint: paintGaps, axes: { x: { ticker }, y: { axisLabelWidth: 56 } },
        showRangeSelector: n === charts.length - 1, rangeSelectorHeight: 34, rangeSelectorPlotStrokeColor: chart.curves[0].colour,
        rangeSelectorPlotFillColor: chart.curves[0].colour,
        drawCallback: graph => {    // zoomed or moved by the pointer
            const [from, to] = graph.xAxisRange();
            if (from !== view[0] || to !== view[1]) {
                clearTimeout(waiting);
                waiting = setTimeout(() => show(from, to), 60);
            }
        },
    }));

    function show(from, to) {
        const span = Math.min(Math.max(to - from, isTime ? .1 : 4), end - begin);
        from = Math.min(Math.max(from, begin), end - span);
        view = [from, from + span];
        mine.forEach((graph, n) => graph.updateOptions({ dateWindow: view, file: [
            ...whole[n].filter(row => row[0] < from), ...rowsOf(charts[n], from, from + span + 1e-6),
            ...whole[n].filter(row => row[0] > from + span)] }));
        get('range').textContent = place(from) + ' to ' + place(from + span);
    }
    const zoom = by => show((view[0] + view[1]) / 2 - by * (view[1] - view[0]) / 2, (view[0] + view[1]) / 2 + by * (view[1] - view[0]) / 2);
    const move = by => show(view[0] + by * (view[1] - view[0]), view[1] + by * (view[1] - view[0]));
    const keys = { '+': () => zoom(.5), '-': () => zoom(2), ArrowLeft: () => move(-.25), ArrowRight: () => move(.25),
                   Home: () => show(begin, end) };
    for (const chart of charts)
        get(chart.id).addEventListener('keydown', event => {
            if (keys[event.key]) {
                keys[event.key]();
                event.preventDefault();
            }
        });
    get('in').onclick = keys['+'];
    get('out').onclick = keys['-'];
    get('all').onclick = keys.Home;
    for (const button of document.querySelectorAll('[data-at]'))
        button.onclick = () => {
            const at = Number(button.dataset.at), half = isTime ? 5 : 120;
            show(at - half, at + half);
            get(charts[0].id).scrollIntoView({ behavior: 'smooth', block: 'center' });
        };
    show(begin, end);
}

for (const spec of data.charts)
    draw(spec, spec.rows, x => spec.x.replace(/[,(].*/, '').trim() + ' ' + x.toFixed(spec.digits), {
        xlabel: spec.x, ylabel: spec.y, includeZero: spec.kind === 'histogram', axes: { x: { drawGrid: false } },
        ...(spec.kind === 'histogram' ? { stepPlot: true, fillGraph: true, fillAlpha: .4 } : { drawPoints: true, pointSize: 3, xRangePad: 20, yRangePad: 24 }),
    });
if (data.time)
    drawTime(data.time).catch(error => { get('range').textContent = 'This browser cannot show the curves: ' + error.message; });

for (const button of document.querySelectorAll('.picture'))
    button.onclick = () => {
        const pictures = document.createElement('div'), caption = button.parentNode.querySelector('figcaption').cloneNode(true);
        pictures.append(...[...button.children].map(child => child.cloneNode(true)));
        get('large').replaceChildren(pictures, caption);
        get('large').showModal();
    };
get('large').onclick = () => get('large').close();
matchMedia('(prefers-color-scheme: dark)').onchange = () => graphs.forEach(graph => graph.updateOptions(colours()));
