// Draws the charts that the data of the page describes, and zooms into their time.
// SPDX-License-Identifier: LGPL-2.1-or-later
const get = id => document.getElementById(id);
const { time, charts } = JSON.parse(get('data').textContent);
const UNIT = time.isTime ? 1000 : 1;    // x has milliseconds, as dates have

function clock(x, digits) {
    const text = new Date(Math.round(Math.max(x, 0))).toISOString();
    return Math.floor(Math.max(x, 0) / 3600000) + text.slice(13, digits ? 20 + digits : 19);
}

// Draw bars for frames without a valid score, a line at the mean, and numbered points of a curve.
function paint(canvas, area, graph, spec) {
    const [begin, end] = graph.xAxisRange(), bottom = area.y + area.h;
    const inside = at => at >= begin && at <= end, place = at => graph.toDomXCoord(at);
    spec.curves.forEach(({ times = [], values, mean, colour }, c) => {
        canvas.fillStyle = colour;
        canvas.fillRect(place(mean), area.y, 1.5, area.h);
        times.forEach((at, i) => {
            const width = Math.max(place(times[i + 1] ?? end) - place(at), 1);
            if (values[i] !== values[i] && inside(at))
                canvas.fillRect(place(at), bottom - 6 * (c + 1), width, 5);
        });
    });
    canvas.font = '11px system-ui, sans-serif';
    canvas.textAlign = 'center';
    for (const mark of (spec.marks || []).filter(mark => inside(mark.x * UNIT))) {
        const x = Math.min(Math.max(place(mark.x * UNIT), area.x + 4), area.x + area.w - 8);
        const y = graph.toDomYCoord(mark.y);
        canvas.fillStyle = mark.colour;
        canvas.fillText('\u25cf', x, y + 4);
        canvas.fillText(mark.text, x, spec.down ? y + 16 : y - 9);
    }
}

function draw(spec, rows, place, options) {
    const readout = get(spec.id).nextElementSibling;
    const text = ([low, mean = low, high = low]) => mean.toFixed(spec.digits) +
        (low === high ? '' : ` (${low.toFixed(spec.digits)} to ${high.toFixed(spec.digits)})`);
    return new Dygraph(get(spec.id), rows, {
        labels: ['x', ...spec.curves.keys()].map(String), colors: spec.curves.map(of => of.colour),
        legend: 'never', connectSeparatedPoints: true, strokeWidth: 1.4, axisLabelWidth: 60,
        digitsAfterDecimal: spec.digits, axisLineColor: '#888', gridLineColor: '#8884',
        underlayCallback: (canvas, area, graph) => paint(canvas, area, graph, spec),
        highlightCallback(event, x, points, row) {      // a method of the graph
            const found = spec.curves.map(({ name }, i) =>
                [name, [this.getValue(row, i + 1)].flat()]).filter(([, of]) => of[0] > -Infinity);
            readout.textContent = place(x) + ': ' + found.map(([name, of]) =>
                (spec.curves.length > 1 ? name + ' ' : '') + text(of)).join(', ');
        },
        ...options,
    });
}

async function unpack(text, type) {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new type(await new Response(stream).arrayBuffer());
}

// Rows of all frames from begin to end, or of 1000 columns with minimum, mean and maximum.
function rowsOf({ curves }, begin, end) {
    const inside = at => at >= begin && at <= end, columns = new Map();
    const many = curves.some(({ times }) => times.filter(inside).length > 2000);
    const width = (end - begin) / 1000;
    curves.forEach(({ times, values }, c) => times.forEach((at, i) => {
        if (!inside(at))
            return;
        const x = many ? begin + (Math.floor((at - begin) / width) + .5) * width : at;
        columns.set(x, columns.get(x) || curves.map(() => []));
        columns.get(x)[c].push(values[i]);
    }));
    const cell = all => {
        const known = all.filter(value => value === value);
        return !all.length ? null : !known.length ? [NaN, NaN, NaN] :
            [Math.min(...known), known.reduce((a, b) => a + b) / known.length, Math.max(...known)];
    };
    return [...columns].sort((a, b) => a[0] - b[0]).map(([x, cells]) => [x, ...cells.map(cell)]);
}

async function drawTime() {
    const begin = time.begin * UNIT, end = time.end * UNIT;
    for (const { curves } of time.charts)
        for (const [c, curve] of curves.entries()) {
            let at = 0;
            const steps = await unpack(time.times[c], Float64Array);
            curve.times = steps.map(step => (at += step) / 1e6 * UNIT);
            curve.values = await unpack(curve.values, Float32Array);
        }
    const whole = time.charts.map(chart => rowsOf(chart, begin, end));
    let view = [begin, end], waiting = null;
    const digits = () => [1000, 9000].filter(length => view[1] - view[0] < length).length;
    const place = x => time.isTime ? clock(x, 3) : 'frame ' + Math.round(x);

    const graphs = time.charts.map((chart, n) => draw(chart, whole[n], place, {
        customBars: true, fillAlpha: .3, valueRange: chart.range, dateWindow: view, labelsUTC: true,
        axes: { x: {
            ticker: time.isTime ? Dygraph.dateTicker : Dygraph.numericTicks,
            pixelsPerLabel: 90, axisLabelWidth: 80,
            axisLabelFormatter: x => time.isTime ? clock(x, digits()) : String(x),
        } },
        showRangeSelector: n === time.charts.length - 1, rangeSelectorHeight: 34,
        interactionModel: Dygraph.defaultInteractionModel,      // the range selector sets another
        drawCallback: graph => {    // zoomed or moved by the pointer
            const range = graph.xAxisRange();
            clearTimeout(waiting);
            if (range[0] !== view[0] || range[1] !== view[1])
                waiting = setTimeout(show, 60, ...range);
        },
    }));

    function show(from, to) {
        const span = Math.min(Math.max(to - from, time.isTime ? 100 : 4), end - begin);
        from = Math.min(Math.max(from, begin), end - span);
        view = [from, from + span];
        graphs.forEach((graph, n) => graph.updateOptions({ dateWindow: view, file: [
            ...whole[n].filter(row => row[0] < view[0]), ...rowsOf(time.charts[n], ...view),
            ...whole[n].filter(row => row[0] > view[1])] }));
        get('range').textContent = view.map(place).join(' to ');
    }
    const zoom = (by, move = 0) => show(...[-by, by].map(half =>
        (view[0] + view[1]) / 2 + (move + half) * (view[1] - view[0])));
    const keys = { '+': () => zoom(.25), '-': () => zoom(1), Home: () => show(begin, end),
        ArrowLeft: () => zoom(.5, -.25), ArrowRight: () => zoom(.5, .25) };
    for (const { id } of time.charts)
        get(id).onkeydown = event => keys[event.key] && event.preventDefault(keys[event.key]());
    document.onclick = ({ target }) => {
        const at = target.dataset.at * UNIT, half = time.isTime ? 5000 : 120;
        target.closest('.picture')?.parentNode.classList.toggle('large');
        keys[target.dataset.key]?.();
        if (at >= begin) {
            show(at - half, at + half);
            get('time-0').scrollIntoView({ behavior: 'smooth', block: 'center' });
        }
    };
    show(begin, end);
}

for (const spec of charts)
    draw(spec, spec.rows, x => `${spec.x.split(' (')[0]} ${x.toFixed(spec.digits)}`, {
        xlabel: spec.x, ylabel: 'frames, %', includeZero: true, axes: { x: { drawGrid: false } },
        stepPlot: true, fillGraph: true, fillAlpha: .4,
    });
drawTime().catch(error => { get('range').textContent = 'This browser fails: ' + error.message; });
