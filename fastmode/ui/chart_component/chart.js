// One Plotly chart that is updated in place. The host calls the default export again with every change of the data or of
// the theme, always with the same parent element, and calls what it returned when the element leaves the page.

const NARROW_BELOW_PX = 760;
const TRANSPARENT = "rgba(0,0,0,0)";
const LATER_MS = 250; // that a chart out of view waits with new data, so that those in view are repainted sooner
const CONFIG = { displayModeBar: false, responsive: false };

const charts = new WeakMap(); // parent element -> Chart
let bundle = null; // promise of Plotly, shared by every chart of the page

function loadPlotly(url) {
  bundle ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => (window.Plotly ? resolve(window.Plotly) : reject(new Error("no Plotly in the bundle")));
    script.onerror = () => reject(new Error("bundle not reachable"));
    document.head.append(script);
  }).catch((error) => {
    bundle = null; // the next change of the data tries again
    throw error;
  });
  return bundle;
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function merge(base, over) {
  const merged = { ...base };
  for (const [name, value] of Object.entries(over ?? {})) {
    merged[name] = isObject(value) && isObject(merged[name]) ? merge(merged[name], value) : value;
  }
  return merged;
}

class Chart {
  constructor(parent) {
    this.host = document.createElement("div");
    this.host.className = "fastmode-chart";
    this.host.setAttribute("role", "img");
    this.host.dataset.painted = "0";
    this.plot = document.createElement("div");
    this.plot.className = "fastmode-chart-plot";
    this.host.append(this.plot);
    parent.append(this.host);
    this.painted = 0;
    this.narrow = false;
    this.resizes = new ResizeObserver(() => this.draw());
    this.resizes.observe(this.host);
    this.views = new IntersectionObserver((seen) => seen.some((part) => part.isIntersecting) && this.hurry?.());
    this.views.observe(this.host);
  }

  update(data) {
    this.data = data;
    this.host.dataset.chartKey = data.key;
    this.host.setAttribute("aria-label", data.alt);
    this.draw();
  }

  // At most one paint at a time; changes that arrive meanwhile are painted once, with the newest data.
  async draw() {
    this.fit();
    if (this.busy) {
      this.stale = true;
      return;
    }
    this.busy = true;
    do {
      this.stale = false;
      try {
        const plotly = window.Plotly ?? (await loadPlotly(this.data.bundle));
        if (this.painted && !this.inView()) await this.later();
        if (!this.dead) await this.paint(plotly);
      } catch (error) {
        console.error(error);
        this.drawn = null;
        this.say([this.data.failed, this.data.alt]);
      }
    } while (this.stale && !this.dead);
    this.busy = false;
  }

  // The height depends on the width, so it is set before anything is drawn and the page below does not move.
  fit() {
    this.width = Math.floor(this.host.getBoundingClientRect().width);
    if (this.width > 0) this.narrow = this.width < NARROW_BELOW_PX; // hidden: as it was when last seen
    this.height = this.narrow ? this.data.heightNarrow : this.data.height;
    this.host.dataset.narrow = String(this.narrow);
    this.host.style.height = `${this.height}px`;
  }

  inView() {
    const { top, bottom } = this.host.getBoundingClientRect();
    return bottom > 0 && top < window.innerHeight;
  }

  // Passes after a while, or as soon as the chart comes into view.
  async later() {
    this.host.dataset.waiting = "true";
    await new Promise((resolve) => {
      this.hurry = resolve;
      setTimeout(resolve, LATER_MS);
    });
    this.host.dataset.waiting = "false";
  }

  async paint(plotly) {
    if (this.width === 0) return; // in a closed tab or expander; the observer reports when it opens
    const style = getComputedStyle(this.host);
    const state = [this.width, this.height, this.narrow, style.color, style.fontFamily, this.data.figure, this.data.narrow];
    const wanted = JSON.stringify(state);
    if (wanted === this.drawn) return;
    const figure = JSON.parse(this.data.figure);
    const layout = this.narrow
      ? merge({ dragmode: false, ...figure.layout }, this.data.narrow)
      : { ...figure.layout };
    const templateFont = layout.template?.layout?.font;
    layout.font = { family: style.fontFamily, color: style.color, ...templateFont, ...layout.font };
    layout.uirevision ??= this.data.key;
    layout.paper_bgcolor = TRANSPARENT;
    layout.plot_bgcolor = TRANSPARENT;
    Object.assign(layout, { autosize: false, width: this.width, height: this.height });
    // A figure with frames brings its own buttons to play them; whoever asked for less motion gets the picture alone.
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) delete layout.updatemenus;
    this.say(null);
    // What is playing would go on with the frames of the old data.
    if (this.plays) await plotly.animate(this.plot, [null], { mode: "immediate" }).catch(() => {});
    this.plays = Boolean(figure.frames?.length);
    await plotly.react(this.plot, { data: figure.data, layout, config: CONFIG, frames: figure.frames });
    this.drawn = wanted;
    requestAnimationFrame(() => this.report());
  }

  // For tests and benchmarks: how often, and when last, this chart was painted.
  report() {
    if (this.dead) return;
    this.painted += 1;
    this.host.dataset.painted = String(this.painted);
    window.__fastmodeChartPaints ??= {};
    window.__fastmodeChartPaints[this.data.key] = { count: this.painted, at: performance.now() };
  }

  say(lines) {
    this.message?.remove();
    this.message = null;
    this.plot.style.visibility = lines ? "hidden" : "";
    if (!lines) return;
    this.message = document.createElement("div");
    this.message.className = "fastmode-chart-message";
    for (const line of lines) {
      const paragraph = document.createElement("p");
      paragraph.textContent = line;
      this.message.append(paragraph);
    }
    this.host.append(this.message);
  }

  destroy() {
    this.dead = true;
    this.resizes.disconnect();
    this.views.disconnect();
    window.Plotly?.purge(this.plot);
    this.host.remove();
    delete window.__fastmodeChartPaints?.[this.data.key];
  }
}

export default function ({ data, parentElement }) {
  let chart = charts.get(parentElement);
  if (chart && chart.data.key !== data.key) {
    chart.destroy();
    chart = undefined;
  }
  if (!chart) {
    chart = new Chart(parentElement);
    charts.set(parentElement, chart);
  }
  chart.update(data);
  // The host also calls this for a call that a newer one overtook, while the chart stays: only a detached chart is removed.
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected || charts.get(parentElement) !== chart) return;
      charts.delete(parentElement);
      chart.destroy();
    }, 0);
}
