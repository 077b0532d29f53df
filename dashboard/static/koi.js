// The dashboard's own script: keys, side panel, live pill, copy buttons, charts. Everything else is HTML and htmx.
(() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

  // ── what a morph leaves alone: <details> that somebody opened, boxes that somebody ticked
  htmx.registerExtension("koi", {
    htmx_before_morph_attr: (node, detail) =>
      !(detail.attrName === "open" && node.tagName === "DETAILS") && !(detail.attrName === "class" && node.classList.contains("at")),
  });

  // ── live pill ────────────────────────────────────────────────────────────────────────────────────────────────
  const pill = $("#pill");
  let isPaused = false, connection = null;
  const show = (state) => {
    if (!pill) return;
    const tones = { live: "answered", away: "fallback", paused: "waiting" };
    const dot = $(".dot", pill);
    dot.className = `dot ${tones[state]}`;
    if (dot.textContent !== pill.dataset[state]) dot.textContent = pill.dataset[state];
    pill.setAttribute("aria-pressed", String(state === "paused"));
  };
  const connect = () => {  // anew, as this script runs after the extension; a swapped-in #live is not connected yet
    const old = $("#live[data-live]");
    if (!old || isPaused) return;
    const fresh = old.cloneNode(false);
    delete fresh.dataset.asked;
    fresh.setAttribute("hx-sse:connect", old.dataset.live);
    fresh.setAttribute("hx-swap", "none");
    old.replaceWith(fresh);
    htmx.process(fresh);
  };
  document.addEventListener("htmx:before:request", (event) => {  // htmx finds a new #live twice at the start: one stream is enough
    const source = event.detail.ctx.sourceElement;
    if (source.id !== "live") return;
    if (source.dataset.asked) event.preventDefault();
    source.dataset.asked = "1";
  });
  document.addEventListener("htmx:sse:before:connection", (event) => {
    connection = event.detail.connection;
    if (isPaused) event.preventDefault();
    else if (document.hidden) show("paused");
    else if (connection.attempt > 0) show("away");
  });
  document.addEventListener("htmx:sse:after:connection", (event) => { connection = event.detail.connection; show("live"); });
  document.addEventListener("htmx:sse:error", (event) => {
    if (event.detail.status === 401 || event.detail.status === 403) location.reload();
    if (!isPaused) show("away");
  });
  document.addEventListener("htmx:error", (event) => { if (event.target.id === "live") { show("away"); setTimeout(connect, 2000); } });
  document.addEventListener("visibilitychange", () => { if (document.hidden) show("paused"); else if (!isPaused) show("away"); });
  pill?.addEventListener("click", () => {
    isPaused = !isPaused;
    if (isPaused) { connection?.reader?.cancel(); show("paused"); }
    else { show("away"); connect(); }
  });

  // ── side panel ───────────────────────────────────────────────────────────────────────────────────────────────
  const panel = $("#panel");
  let opener = null;
  const close = () => {
    if (!panel || panel.hidden) return false;
    panel.hidden = true;
    panel.replaceChildren();
    const back = opener?.isConnected ? opener : opener?.id ? document.getElementById(opener.id) : null;
    (back ?? $("#content"))?.focus();
    opener = null;
    return true;
  };
  document.addEventListener("htmx:before:request", (event) => {
    if (event.detail.ctx.target === panel && !panel.contains(document.activeElement)) opener = event.detail.ctx.sourceElement;
  });
  document.addEventListener("htmx:after:swap", () => {
    if (panel?.childElementCount && panel.hidden) { panel.hidden = false; panel.focus(); }
    if ($("#live[data-live]:not([hx-sse\\:connect])")) connect();
    charts();
  });
  document.addEventListener("click", (event) => {
    const target = event.target;
    if (target.closest("[data-close]")) { close(); return; }
    if (target.closest("[data-keys]")) { $("#keys").showModal(); return; }
    const copier = target.closest("[data-copy]");
    if (copier) { copy(copier); return; }
    const all = target.closest("[data-all]");
    if (all) { [...(all.form?.elements ?? $$("input"))].forEach((box) => { if (box.name === all.dataset.all) box.checked = all.checked; }); return; }
    const menu = $(".menu[open]");
    if (menu && !menu.contains(target)) menu.open = false;
    if (!target.closest("a, button, input, select, textarea, label, summary")) {
      const row = target.closest("tr[data-row]");
      if (row && !getSelection().toString()) $("[data-open]", row)?.click();
    }
  });

  // a destructive button asks once more: the first press arms it for four seconds
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-sure]");
    if (!button || button.classList.contains("sure")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const words = button.textContent;
    button.classList.add("sure");
    button.textContent = button.dataset.sure;
    setTimeout(() => { button.classList.remove("sure"); button.textContent = words; }, 4000);
  }, true);

  // ── copy, also where the page came over plain HTTP and there is no clipboard API ─────────────────────────────────
  const copy = async (button) => {
    const text = button.dataset.copy;
    try { await navigator.clipboard.writeText(text); }
    catch {
      const area = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    const words = button.textContent;
    button.textContent = button.dataset.copied ?? "✓";
    setTimeout(() => { button.textContent = words; }, 1500);
  };

  // ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────
  const rows = () => $$("[data-row]");
  const step = (by) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.classList.contains("at"));
    const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))];
    all[at]?.classList.remove("at");
    next.classList.add("at");
    next.scrollIntoView({ block: "nearest" });
    $("[data-open]", next)?.focus({ preventScroll: true });
  };
  const keys = {
    "/": () => $("input[type=search]")?.focus(),
    j: () => step(1),
    k: () => step(-1),
    r: () => $(".at [data-retry]")?.click() ?? $("#panel [data-retry]")?.click(),
    "?": () => $("#keys")?.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !$("dialog[open]")) {
      if (event.target.matches("input[type=search]")) event.target.blur();
      else if (!close() && $(".menu[open]")) { $(".menu[open] summary").focus(); $(".menu[open]").open = false; }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]") || event.target.closest("input, select, textarea, [contenteditable]")) return;
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });

  // ── charts: <div class="chart" data-chart='{"x": […], "series": [{"label", "tone", "values", "fill"}]}'> ─────────
  const drawn = new Map();
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const draw = (box) => {
    const said = box.dataset.chart, data = JSON.parse(said), old = drawn.get(box);
    if (old?.said === said && old.plot.root.isConnected) return;
    old?.plot.destroy();
    const format = (options) => new Intl.DateTimeFormat(data.language, { ...options, ...(data.zone ? { timeZone: data.zone } : {}) });
    const clock = format({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" }), day = format({ day: "numeric", month: "short" });
    const axis = { stroke: colour("quiet"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const plot = new uPlot({
      width: box.clientWidth, height: box.clientHeight, legend: { show: false }, cursor: { show: false },
      scales: { y: { range: (_plot, _low, high) => [0, Math.max(data.least ?? 1, high ?? 0)] } },
      axes: [
        { ...axis, grid: { show: false }, size: 28, space: 64, incrs: [60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800], values: (_plot, splits, _axis, _space, step) => splits.map((at) => (step >= 86400 ? day : clock).format(at * 1000)) },
        { ...axis, size: 40, incrs: data.whole === false ? undefined : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] },
      ],
      series: [{}, ...data.series.map((one) => ({
        label: one.label, width: 1.5, points: { show: data.x.length < 2 }, stroke: colour(one.tone),
        fill: one.fill ? `color-mix(in srgb, ${colour(one.tone)} 15%, transparent)` : undefined,
      }))],
    }, [data.x, ...data.series.map((one) => one.values)], box);
    drawn.set(box, { said, plot });
  };
  const sized = new ResizeObserver((entries) => entries.forEach(({ target }) => drawn.get(target)?.plot.setSize({ width: target.clientWidth, height: target.clientHeight })));
  const charts = (again = false) => {
    for (const [box, { plot }] of drawn) if (again || !box.isConnected) { plot.destroy(); drawn.delete(box); sized.unobserve(box); }
    for (const box of $$(".chart[data-chart]")) { draw(box); sized.observe(box); }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts(true));
  charts();
  connect();
})();
