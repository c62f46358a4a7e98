// Draws the charts that the page's data describes, and what is asked for of their time.
// SPDX-License-Identifier: LGPL-2.1-or-later
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const get = id => document.getElementById(id);
const COLUMNS = 1000;

function clock(x, digits) {
    const whole = Math.round(Math.max(x, 0) * 10 ** digits), minutes = Math.floor(whole / 60 / 10 ** digits);
    const rest = (whole / 10 ** digits - minutes * 60).toFixed(digits);
    return Math.floor(minutes / 60) + ':' + String(minutes % 60).padStart(2, '0') + ':' + rest.padStart(digits ? digits + 3 : 2, '0');
}

// Bars for frames without a valid score; the mean, as a broken line; points of a curve with a number.
function paint(canvas, area, graph, spec) {
    const [begin, end] = graph.xAxisRange(), bottom = area.y + area.h;
    canvas.save();
    canvas.font = '11px system-ui, sans-serif';
    canvas.textAlign = 'center';
    canvas.setLineDash([5, 4]);
    spec.curves.forEach(({ times, values, mean, colour }, c) => {
        canvas.fillStyle = canvas.strokeStyle = colour;
        times?.forEach((at, i) => {
            const x = graph.toDomXCoord(at);
            if (values[i] !== values[i] && at >= begin && at <= end)
                canvas.fillRect(x, bottom - 6 * (c + 1), Math.max(graph.toDomXCoord(times[i + 1] ?? end) - x, 1), 5);
        });
        canvas.beginPath();
        canvas.moveTo(graph.toDomXCoord(mean), area.y);
        canvas.lineTo(graph.toDomXCoord(mean), bottom);
        canvas.stroke();
    });
    for (const mark of (spec.marks || []).filter(mark => mark.x >= begin && mark.x <= end)) {
        const x = graph.toDomXCoord(mark.x), y = graph.toDomYCoord(mark.y);
        canvas.fillStyle = mark.colour;
        canvas.beginPath();
        canvas.arc(x, y, 3, 0, 7);
        canvas.fill();
        canvas.fillText(mark.text, Math.min(x, area.x + area.w - 8), spec.down ? y + 16 : y - 9);
    }
    canvas.restore();
}

function draw(spec, rows, place, options) {
    const box = get(spec.id), readout = box.nextElementSibling;
    const value = ([low, mean = low, high = low]) => mean.toFixed(spec.digits) +
        (low === high ? '' : ' (' + low.toFixed(spec.digits) + ' to ' + high.toFixed(spec.digits) + ')');
    return new Dygraph(box, rows, {
        labels: ['x', ...spec.curves.map((curve, i) => String(i))], colors: spec.curves.map(curve => curve.colour),
        legend: 'never', connectSeparatedPoints: true, animatedZooms: false, strokeWidth: 1.4, highlightCircleSize: 4,
        digitsAfterDecimal: spec.digits,
        xLabelHeight: 18, yLabelWidth: 18, rightGap: 12, axisLineColor: '#888', gridLineColor: '#8884',
        underlayCallback: (canvas, area, graph) => paint(canvas, area, graph, spec),
        highlightCallback: (event, x, points, row) => {
            const found = spec.curves.map((curve, i) => [curve.name, [graph.getValue(row, i + 1)].flat()]).filter(([, of]) => of[0] !== null && of[0] === of[0]);
            readout.textContent = place(x) + ': ' + found.map(([name, of]) => (spec.curves.length > 1 ? name + ' ' : '') + value(of)).join(', ');
        },
        unhighlightCallback: () => { readout.textContent = ''; },
        ...options,
    });
}

async function unpack(text, type) {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new type(await new Response(stream).arrayBuffer());
}

// Rows of the time from begin to end: of each frame, or of columns with the lowest, the mean and the highest.
function rowsOf(chart, begin, end) {
    const inside = at => at >= begin && at <= end, columns = new Map();
    const width = chart.curves.some(({ times }) => times.filter(inside).length > 2 * COLUMNS) ? (end - begin) / COLUMNS : 0;
    chart.curves.forEach(({ times, values }, c) => times.forEach((at, i) => {
        if (!inside(at))
            return;
        const x = width ? begin + (Math.floor((at - begin) / width) + .5) * width : at;
        if (!columns.has(x))
            columns.set(x, chart.curves.map(() => []));
        columns.get(x)[c].push(values[i]);
    }));
    return [...columns].sort((a, b) => a[0] - b[0]).map(([x, cells]) => [x, ...cells.map(cell => {
        const known = cell.filter(value => value === value);
        return !cell.length ? null : !known.length ? [NaN, NaN, NaN] :
            [Math.min(...known), known.reduce((a, b) => a + b) / known.length, Math.max(...known)];
    })]);
}

async function drawTime({ charts, times, begin, end, isTime }) {
    times = await Promise.all(times.map(text => unpack(text, Float64Array)));
    for (const at of times) {
        let sum = 0;
        at.forEach((difference, i) => { at[i] = (sum += difference) / 1e6; });
    }
    for (const chart of charts)
        for (const [c, curve] of chart.curves.entries()) {
            curve.times = times[c];
            curve.values = await unpack(curve.values, Float32Array);
        }
    let view = [begin, end], waiting = null;
    const whole = charts.map(chart => rowsOf(chart, begin, end));
    const place = x => isTime ? clock(x, view[1] - view[0] < 20 ? 3 : 0) : 'frame ' + Math.round(x);

    // the library's dates are milliseconds
    const ticker = (from, to, ...rest) => !isTime ? Dygraph.numericTicks(from, to, ...rest) :
        Dygraph.dateTicker(from * 1000, to * 1000, ...rest)
            .map(({ v, label }) => ({ v: v / 1000, label }));
    const axisLabelFormatter = x => isTime ?
        clock(x / 1000, [1, 9].filter(seconds => view[1] - view[0] < seconds).length) : String(x);

    const mine = charts.map((chart, n) => draw(chart, whole[n], place, {
        customBars: true, fillAlpha: .3, valueRange: chart.range, dateWindow: view, labelsUTC: true,
        axes: {
            x: { ticker, axisLabelFormatter, pixelsPerLabel: 90, axisLabelWidth: 80 },
            y: { axisLabelWidth: 56 },
        },
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
            ...whole[n].filter(row => row[0] < from), ...rowsOf(charts[n], ...view), ...whole[n].filter(row => row[0] > view[1])] }));
        get('range').textContent = place(view[0]) + ' to ' + place(view[1]);
    }
    const zoom = by => show(...[-by, by].map(by => (view[0] + view[1]) / 2 + by * (view[1] - view[0]) / 2));
    const move = by => show(...view.map(x => x + by * (view[1] - view[0])));
    const keys = { '+': () => zoom(.5), '-': () => zoom(2), ArrowLeft: () => move(-.25), ArrowRight: () => move(.25),
                   Home: () => show(begin, end) };
    for (const chart of charts)
        get(chart.id).onkeydown = event => {
            if (keys[event.key])
                event.preventDefault(keys[event.key]());
        };
    for (const button of document.querySelectorAll('[data-key]'))
        button.onclick = keys[button.dataset.key];
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
        xlabel: spec.x, ylabel: spec.y, includeZero: true, axes: { x: { drawGrid: false } }, stepPlot: true, fillGraph: true, fillAlpha: .4,
    });
drawTime(data.time).catch(error => { get('range').textContent = 'This browser cannot show the curves: ' + error.message; });
for (const button of document.querySelectorAll('.picture'))
    button.onclick = () => button.parentNode.classList.toggle('large');
