// Shows the part of the time axis that is asked for. All parts are in the page, drawn and
// compressed: data.parts[level - 1] has those of a level, at equal steps.
const data = JSON.parse(document.getElementById('data').textContent);
const chart = document.getElementById('chart');
if (chart) {
    const image = chart.querySelector('.wide'), narrow = chart.querySelector('.narrow');
    const lens = document.getElementById('lens'), status = document.getElementById('status');
    const button = name => document.getElementById(name);
    const whole = image.src, text = image.alt;
    let level = 0, part = 0, shown = null, asked = 0;

    const span = at => (data.end - data.begin) / data.zoom ** at;
    const count = at => at ? data.parts[at - 1].length : 1;
    const beginOf = (at, index) => data.begin + (index && index / (count(at) - 1) * (span(0) - span(at)));
    const begin = () => beginOf(level, part);

    // The part in whose middle a time is, or nearly.
    const nearest = (at, x) => at ? Math.min(Math.max(Math.round(
        (x - span(at) / 2 - data.begin) / (span(0) - span(at)) * (count(at) - 1)), 0), count(at) - 1) : 0;

    function label(x, digits) {
        if (!data.is_time)
            return 'frame ' + Math.round(x);
        const whole = Math.round(Math.max(x, 0) * 10 ** digits), minutes = Math.floor(whole / 60 / 10 ** digits);
        const rest = (whole / 10 ** digits - minutes * 60).toFixed(digits);
        return Math.floor(minutes / 60) + ':' + String(minutes % 60).padStart(2, '0') + ':' +
               rest.padStart(digits ? digits + 3 : 2, '0');
    }

    async function picture(name) {
        const bytes = Uint8Array.from(atob(name), c => c.charCodeAt(0));
        const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
        return URL.createObjectURL(new Blob([await new Response(stream).blob()], { type: 'image/svg+xml' }));
    }

    async function show(newLevel, newPart) {
        const turn = ++asked;
        let url = whole;
        if (newLevel) {
            try {
                url = await picture(data.parts[newLevel - 1][newPart]);
            } catch (error) {
                status.textContent = 'This browser cannot show more detail: ' + error.message;
                return;
            }
        }
        if (turn !== asked) {
            URL.revokeObjectURL(url);
            return;
        }
        if (shown)
            URL.revokeObjectURL(shown);
        shown = url === whole ? null : url;
        level = newLevel;
        part  = newPart;
        image.src = url;
        chart.classList.toggle('part', level > 0);  // there is one width of it only
        const digits = span(level) < 20 ? 1 : 0;
        const each = level === data.parts.length ? ', every frame' : '';
        image.alt = level ? text + ', from ' + label(begin(), digits) : text;
        button('range').textContent = data.parts.length ?
            label(begin(), digits) + ' to ' + label(begin() + span(level), digits) + each : '';
        button('out').disabled = button('all').disabled = !level;
        button('in').disabled  = level === data.parts.length;
        button('back').disabled = !part;
        button('on').disabled  = part === count(level) - 1;
        chart.classList.toggle('can', level < data.parts.length);
        lens.style.display = 'none';
        status.textContent = '';
    }

    function into(x) {
        if (level < data.parts.length)
            show(level + 1, nearest(level + 1, x));
    }
    const out  = () => level && show(level - 1, nearest(level - 1, begin() + span(level) / 2));
    const move = by => part + by >= 0 && part + by < count(level) && show(level, part + by);

    // Where in time the pointer is, and where in the picture a time is.
    const visible = () => image.offsetParent ? [image, ...data.wide] : [narrow, ...data.narrow];
    function time(event) {
        const [picture, left, right] = visible(), box = picture.getBoundingClientRect();
        const at = ((event.clientX - box.left) / box.width - left) / (right - left);
        return at < 0 || at > 1 ? null : begin() + at * span(level);
    }
    function place(x) {
        const [picture, left, right] = visible();
        return picture.offsetWidth * (left + (x - begin()) / span(level) * (right - left));
    }

    chart.addEventListener('pointermove', event => {
        const x = time(event), next = level + 1;
        lens.style.display = 'none';
        status.textContent = x === null ? '' : label(x, span(level) < 600 ? 2 : 0) +
            (level < data.parts.length ? ', click for more detail' : '');
        if (x === null || next > data.parts.length)
            return;
        const from = beginOf(next, nearest(next, x));
        lens.style.left  = place(from) + 'px';
        lens.style.width = place(from + span(next)) - place(from) + 'px';
        lens.style.display = 'block';
    });
    chart.addEventListener('pointerleave', () => { lens.style.display = 'none'; status.textContent = ''; });
    chart.addEventListener('click', event => { const x = time(event); if (x !== null) into(x); });
    const keys = { '+': () => into(begin() + span(level) / 2), '-': out, ArrowLeft: () => move(-1),
                   ArrowRight: () => move(1), Home: () => show(0, 0) };
    chart.addEventListener('keydown', event => {
        if (keys[event.key]) {
            keys[event.key]();
            event.preventDefault();
        }
    });
    button('in').onclick   = keys['+'];
    button('out').onclick  = out;
    button('back').onclick = () => move(-1);
    button('on').onclick   = () => move(1);
    button('all').onclick  = () => show(0, 0);
    for (const moment of document.querySelectorAll('[data-at]'))
        moment.onclick = () => {
            show(data.parts.length, nearest(data.parts.length, Number(moment.dataset.at)));
            chart.scrollIntoView({ behavior: 'smooth', block: 'center' });
        };
    show(0, 0);
}
