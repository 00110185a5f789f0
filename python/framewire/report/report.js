"use strict";
(() => {
  const texts = JSON.parse(document.getElementById("figures").textContent);
  const places = [...document.querySelectorAll(".plot")];
  const buttons = ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"];
  const config = { displaylogo: false, showSendToCloud: false, displayModeBar: "hover", responsive: true, modeBarButtons: [buttons] };

  // plotly.js is stored compressed; the browser unpacks it.
  async function unpack() {
    const packed = document.getElementById("plotly").textContent.trim();
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.text = await new Response(stream).text();
    document.head.appendChild(script);
  }

  function draw(place) {
    if (place.dataset.drawn) return;
    place.dataset.drawn = "yes";
    const [data, layout] = texts[place.dataset.figure];
    place.textContent = "";
    Plotly.newPlot(place, data, layout, config);
  }

  // Figures are drawn when they come near the screen, and all of them before printing.
  function watch() {
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) {
          observer.unobserve(entry.target);
          draw(entry.target);
        }
      }
    }, { rootMargin: "600px" });
    for (const place of places) observer.observe(place);
    const idle = window.requestIdleCallback || ((work) => setTimeout(work, 50));
    const rest = [...places];
    const next = () => {
      const place = rest.shift();
      if (!place) {
        document.documentElement.dataset.ready = "yes";
        return;
      }
      draw(place);
      idle(next);
    };
    setTimeout(() => idle(next), 300);
  }

  // On paper a figure is as wide as its column there, lower, and in smaller type.
  const paper = { full: 690, half: 336 };
  function forPaper(place) {
    const [data, layout] = texts[place.dataset.figure];
    const width = place.closest(".half") ? paper.half : paper.full;
    const named = data.filter((trace) => trace.showlegend !== false && layout.showlegend !== false);
    const letters = named.reduce((sum, trace) => sum + 8 + trace.name.length, 0);
    const legend = 13 * Math.ceil(letters * 5 / (width - 60));
    const titles = layout.grid ? 40 : 8;
    return {
      width, height: 0.68 * layout.height + legend, "margin.t": titles + legend, "margin.b": 36, "font.size": 9,
      "legend.font.size": 9,
    };
  }
  window.addEventListener("beforeprint", () => {
    for (const place of places) {
      draw(place);
      Plotly.relayout(place, forPaper(place));
    }
  });
  window.addEventListener("afterprint", () => {
    for (const place of places) {
      const [, layout] = texts[place.dataset.figure];
      Plotly.relayout(place, {
        width: null, autosize: true, height: layout.height, "margin.t": layout.margin.t, "margin.b": layout.margin.b,
        "font.size": 12, "legend.font.size": 12,
      });
    }
  });

  function sortable(table) {
    const body = table.tBodies[0];
    table.querySelectorAll("th button").forEach((button) => {
      button.addEventListener("click", () => {
        const head = button.closest("th");
        const up = head.getAttribute("aria-sort") !== "ascending";
        table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => row.cells[head.cellIndex].dataset.value;
        const compare = (a, b) => {
          const [x, y] = [value(a), value(b)];
          if (x === "" || y === "") return (x === "") - (y === "");
          const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : Number(x) - Number(y);
          return up ? order : -order;
        };
        body.append(...[...body.rows].sort(compare));
      });
    });
  }

  // A command for a shell; where the clipboard is refused it stands there to be copied by hand.
  function copies(button) {
    const said = button.parentElement.querySelector(".copied");
    const show = (note) => {
      said.hidden = false;
      said.textContent = button.dataset.command;
      said.dataset.note = note;
    };
    const byHand = () => {
      show("copy it from here:");
      getSelection().selectAllChildren(said);
    };
    button.addEventListener("click", () => {
      if (!navigator.clipboard) byHand();
      else navigator.clipboard.writeText(button.dataset.command).then(() => show("copied:"), byHand);
    });
  }

  document.querySelectorAll("button.copies").forEach(copies);
  document.querySelectorAll("table.sortable").forEach(sortable);
  unpack().then(watch).catch((error) => {
    for (const place of places) place.textContent = "This browser cannot draw the plot: " + error;
  });
})();
