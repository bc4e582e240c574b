const byId = (id) => document.getElementById(id);

// The share of the order that is known: 0 if pairs stand as by chance, 1 if all are right.
const knownPercent = (state) => Math.max(0, Math.round(200 * state.settled - 100));

// Markdown to elements, a safe part of it: headings, emphasis, code, lists, quotes, tables, rules.
// Markup in the text stays text. Links and pictures show their address and lead nowhere, so that a
// text can neither load anything nor take the reader away. Spans are bounded, so that no text takes
// long; one line break is a line break, as people write in forms.
const markdown = (() => {
  const DEPTH = 6;
  const INLINE = [
    ['escape', /\\([!-/:-@[-`{-~])/y],
    ['code', /(`{1,9})(?!`)([^]{1,2000}?)(?<!`)\1(?!`)/y],
    ['link', /(!?)\[([^\]\n]{0,400})\]\(<?([^()\s<>]{0,2000})>?(?:[ \t]+"[^"\n]{0,200}")?\)/y],
    ['strong', /(\*\*|__)(?=\S)([^]{0,2000}?\S)\1(?![*_])/y],
    ['s', /(~~)(?=\S)([^]{0,2000}?\S)\1/y],
    ['em', /(\*|_)(?=[^\s*_])([^]{0,2000}?[^\s*_])\1(?![\p{L}\p{N}*_])/uy],
  ];
  const inWord = /[\p{L}\p{N}]/u;

  function link(found, depth) {
    const [, picture, words, address] = found;
    if (picture) return el('span', 'link', `[picture: ${words || address}]`);
    const node = el('span', 'link', ...inline(words || address, depth + 1));
    if (words && address && words !== address) node.append(el('span', 'address', ` (${address})`));
    return node;
  }

  function matched(text, at, depth) {
    for (const [kind, pattern] of INLINE) {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (!found) continue;
      // An underscore inside a word is part of the word.
      if (found[1] && found[1][0] === '_' && at > 0 && inWord.test(text[at - 1])) continue;
      const size = found[0].length;
      if (kind === 'escape') return [found[1], size];
      if (kind === 'code') return [el('code', '', found[2].replace(/^ ([^]*\S[^]*) $/, '$1')), size];
      if (kind === 'link') return [link(found, depth), size];
      return [el(kind, '', ...inline(found[2], depth + 1)), size];
    }
    return null;
  }

  function inline(text, depth = 0) {
    const parts = [];
    let plain = '';
    const flush = () => {
      if (plain) parts.push(plain);
      plain = '';
    };
    for (let at = 0; at < text.length; ) {
      const sign = text[at];
      const found = depth < DEPTH && '\\`![*_~'.includes(sign) ? matched(text, at, depth) : null;
      if (found) {
        if (typeof found[0] === 'string') plain += found[0];
        else flush(), parts.push(found[0]);
        at += found[1];
      } else if (sign === '\n') {
        flush();
        parts.push(el('br'));
        at += 1;
      } else {
        plain += sign;
        at += 1;
      }
    }
    flush();
    return parts;
  }

  const FENCE = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
  const HEAD = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/;
  const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
  const QUOTE = /^ {0,3}> ?/;
  const ITEM = /^( {0,12})([-*+]|\d{1,9}[.)])[ \t]+(?=\S)/;
  const DASHES = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
  const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim());
  const starts = (line) => FENCE.test(line) || HEAD.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);

  // Each takes the lines and where it begins; returns the element and where it ends.
  function fence(lines, k) {
    const mark = lines[k].match(FENCE)[1];
    let end = k + 1;
    while (end < lines.length && !(lines[end].trim().startsWith(mark) && !lines[end].trim().slice(mark.length).replaceAll(mark[0], ''))) end += 1;
    return [el('pre', '', el('code', '', lines.slice(k + 1, end).join('\n'))), end + 1];
  }

  function quote(lines, k, depth) {
    let end = k;
    while (end < lines.length && QUOTE.test(lines[end])) end += 1;
    return [el('blockquote', '', ...blocks(lines.slice(k, end).map((line) => line.replace(QUOTE, '')), depth + 1)), end];
  }

  function list(lines, k, depth) {
    const [, indent, mark] = lines[k].match(ITEM);
    const ordered = /\d/.test(mark);
    const node = el(ordered ? 'ol' : 'ul');
    if (ordered) node.start = parseInt(mark, 10);
    while (k < lines.length) {
      const found = lines[k].match(ITEM);
      if (!found || found[1].length !== indent.length || /\d/.test(found[2]) !== ordered || RULE.test(lines[k])) break;
      const body = [lines[k].slice(found[0].length)];
      for (k += 1; k < lines.length; k += 1) {
        const line = lines[k];
        const inside = /^\s/.test(line) && line.search(/\S/) > indent.length;
        if (!line.trim()) {
          // A blank line belongs to the item if what follows is indented.
          const next = lines[k + 1] || '';
          if (!next.trim() || next.search(/\S/) <= indent.length) break;
          body.push('');
        } else if (inside) body.push(line.slice(Math.min(line.search(/\S/), found[0].length)));
        else if (starts(line)) break;
        else body.push(line);
      }
      node.append(el('li', '', ...blocks(body, depth + 1)));
      if (k + 1 < lines.length && !lines[k].trim() && ITEM.test(lines[k + 1])) k += 1;
    }
    return [node, k];
  }

  function table(lines, k) {
    const row = (line, tag) => el('tr', '', ...cells(line).map((cell) => el(tag, '', ...inline(cell))));
    const body = [row(lines[k], 'th')];
    let end = k + 2;
    while (end < lines.length && lines[end].includes('|')) body.push(row(lines[end++], 'td'));
    return [el('div', 'wide', el('table', '', ...body)), end];
  }

  function paragraph(lines, k) {
    let end = k + 1;
    while (end < lines.length && lines[end].trim() && !starts(lines[end])) end += 1;
    return [el('p', '', ...inline(lines.slice(k, end).map((line) => line.trim()).join('\n'))), end];
  }

  function block(lines, k, depth) {
    const line = lines[k];
    const head = line.match(HEAD);
    if (head) return [el('p', `head head-${head[1].length}`, ...inline(head[2])), k + 1];
    if (FENCE.test(line)) return fence(lines, k);
    if (RULE.test(line)) return [el('hr'), k + 1];
    if (depth < DEPTH && QUOTE.test(line)) return quote(lines, k, depth);
    if (depth < DEPTH && ITEM.test(line)) return list(lines, k, depth);
    if (line.includes('|') && k + 1 < lines.length && lines[k + 1].includes('-') && DASHES.test(lines[k + 1])) return table(lines, k);
    return paragraph(lines, k);
  }

  function blocks(lines, depth = 0) {
    const parts = [];
    for (let k = 0; k < lines.length; ) {
      if (!lines[k].trim()) {
        k += 1;
        continue;
      }
      const [node, end] = block(lines, k, depth);
      parts.push(node);
      k = end;
    }
    return parts;
  }

  return (text) => blocks(text.replace(/\r\n?/g, '\n').replaceAll('\t', '    ').split('\n'));
})();

// The ranking: one row per item that has a rank.
function rankingRow(one) {
  const track = el('span', 'track', el('i', 'span'), el('i', 'dot'));
  track.setAttribute('aria-hidden', 'true');
  const row = el('li', '', el('span', 'name', named(one.name)), track, el('span', 'rank'));
  row.dataset.item = one.item;
  return row;
}

const openRanks = (one) => (one.settled ? '' : ` (${one.rank_low}\u2013${one.rank_high})`);

function showRanking(list, places) {
  const known = new Map([...list.children].map((row) => [row.dataset.item, row]));
  const low = Math.min(...places.map((one) => one.low));
  const high = Math.max(...places.map((one) => one.high));
  const at = (value) => (high > low ? (100 * (value - low)) / (high - low) : 50);
  const rows = places.map((one) => {
    const row = known.get(String(one.item)) || rankingRow(one);
    const [, track, rank] = row.children;
    const [span, dot] = track.children;
    row.classList.toggle('asked', one.asked > 0);
    row.classList.toggle('sure', one.settled);
    span.style.left = `${at(one.low)}%`;
    span.style.width = `${at(one.high) - at(one.low)}%`;
    dot.style.left = `${at(one.strength)}%`;
    rank.replaceChildren(String(one.rank), el('span', '', openRanks(one)));
    return row;
  });
  // The column of ranks is as wide as the widest of them.
  const widest = Math.max(4, ...places.map((one) => `${one.rank}${openRanks(one)}`.length));
  list.style.setProperty('--rank', `${widest + 1}ch`);
  list.replaceChildren(...rows);
}

// The card of the result: on the page, as a picture and as text.
const CARD_PLACES = 10;

function resultOf(state, places) {
  const most = Math.min(CARD_PLACES, Math.max(5, state.top));
  const known = `${knownPercent(state)}% of the order is known`;
  const day = new Date().toLocaleDateString('en', { year: 'numeric', month: 'long', day: 'numeric' });
  return {
    title: state.title || 'Ranking',
    facts: [counted(state.answers, 'answer', 'answers') + (state.judge ? ` by ${state.judge}` : ''), counted(state.items, 'item', 'items'), known, day],
    places: places.slice(0, most),
    left: places.length - Math.min(most, places.length),
  };
}

function resultCard(result) {
  const list = el('ol', 'places');
  for (const one of result.places) {
    const row = el('li', one.settled ? 'sure' : '', el('span', 'rank', one.rank), el('span', 'name', named(one.name)), el('span', 'open', openRanks(one)));
    list.append(row);
  }
  const more = result.left > 0 ? [el('p', 'soft', `and ${result.left.toLocaleString('en')} more`)] : [];
  return el('article', 'result-card', el('h3', '', named(result.title)), list, ...more, el('p', 'soft', result.facts.join(' \u00b7 ')));
}

function resultText(result) {
  return [result.title, ...result.places.map((one) => `${one.rank}. ${one.name}${openRanks(one)}`), result.facts.join(', ')].join('\n');
}

// Drawn by hand: the policy of the page allows no picture that is not from the server.
function resultPicture(result) {
  const canvas = el('canvas');
  [canvas.width, canvas.height] = [1200, 630];
  const pen = canvas.getContext('2d');
  const write = (text, x, y, font, ink, most) => {
    pen.font = `${font} "DejaVu Sans", sans-serif`;
    pen.fillStyle = ink;
    let shown = text.replace(/\s+/g, ' ');
    if (pen.measureText(shown).width > most) {
      const signs = [...shown];
      let few = signs.length;
      while (few > 0 && pen.measureText(`${signs.slice(0, few).join('')}\u2026`).width > most) few = few > 200 ? 200 : few - 1;
      shown = `${signs.slice(0, few).join('')}\u2026`;
    }
    pen.fillText(shown, x, y);
  };
  pen.fillStyle = '#ffffff';
  pen.fillRect(0, 0, 1200, 630);
  pen.fillStyle = '#1c5fb8';
  pen.fillRect(0, 0, 12, 630);
  write(result.title, 60, 90, 'bold 42px', '#1c222b', 1080);
  const step = Math.min(82, 420 / Math.max(1, result.places.length));
  const size = Math.round(Math.min(34, 0.62 * step));
  result.places.forEach((one, k) => {
    const y = 165 + step * k;
    const sure = one.settled;
    write(String(one.rank), 60, y, `bold ${size}px`, sure ? '#1c5fb8' : '#59626f', 90);
    write(one.name, 150, y, `${sure ? 'bold ' : ''}${size}px`, '#1c222b', 800);
    write(openRanks(one), 970, y, `${Math.round(0.75 * size)}px`, '#59626f', 170);
  });
  write(result.facts.join(' \u00b7 '), 60, 595, '20px', '#59626f', 1080);
  return canvas;
}

function saveResult(result) {
  resultPicture(result).toBlob((blob) => {
    const link = el('a');
    link.href = URL.createObjectURL(blob);
    link.download = 'ranking.png';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
}

// The page: asks, sends the answer, shows the next question and the ranking.
(() => {
  const root = document.documentElement;
  const sides = { left: byId('left'), right: byId('right') };
  let state = null; // the question and the first places, as the server sent them
  let places = null; // all places, if they were asked for
  let all = false; // whether all places are shown
  let revealed = false; // whether hidden names may be shown in the ranking
  let busy = false;
  let connection = 'on'; // or offline (will be tried again) or ended (will not)

  function showCard(side, item) {
    const card = sides[side];
    const label = state.blind ? { left: 'A', right: 'B' }[side] : item.name;
    const parts = [];
    if (item.image) {
      const image = el('img');
      image.alt = label;
      image.src = item.image;
      parts.push(image);
    }
    parts.push(el('h2', 'name', named(label)));
    if (item.text) parts.push(state.markdown ? el('div', 'text', ...markdown(item.text)) : el('div', 'text plain', item.text));
    if (item.cells.length) {
      const cells = el('div', 'cells');
      for (const [key, value] of item.cells) cells.append(el('span', 'key', named(key)), el('span', '', value));
      parts.push(cells);
    }
    card.querySelector('.words').replaceChildren(...parts);
    card.classList.remove('chosen', 'open');
    card.dataset.item = item.item;
    const place = state.blind ? label : `${side === 'left' ? 'Left' : 'Right'}: ${label}`;
    card.querySelector('.pick').setAttribute('aria-label', `${place} is better`);
    return item.text.length > 60 || item.text.includes('\n') || item.cells.length > 2 || label.length > 60;
  }

  // Say that there is more where a card is cut; all at once, since sizes are slow to measure.
  function showMore() {
    const cards = Object.values(sides);
    const cut = cards.map((card) => {
      const words = card.querySelector('.words');
      return card.classList.contains('open') || words.scrollHeight > words.clientHeight + 2;
    });
    cards.forEach((card, k) => {
      const open = card.classList.contains('open');
      const more = card.querySelector('.more');
      more.hidden = !cut[k];
      more.textContent = open ? 'Show less' : 'Show all of it';
      more.setAttribute('aria-expanded', open ? 'true' : 'false');
      card.classList.toggle('cut', cut[k] && !open);
    });
  }

  function toggleMore(card, open = !card.classList.contains('open')) {
    if (card.querySelector('.more').hidden) return;
    card.classList.toggle('open', open);
    showMore();
  }

  const reasons = {
    settled: 'By your answers no other ranks are possible for them, with 90%.',
    answers: 'They put what is there above all other items, directly or through others. Ranks in brackets are those that a slip would still allow; more answers narrow them.',
    all: 'Some places are still open: answers to further questions, which repeat pairs, can settle them.',
  };
  const moments = {
    settled: () => `Your first ${state.top === 1 ? 'place is' : `${state.top} places are`} settled`,
    answers: () => `Your answers agree on the first ${state.top === 1 ? 'place' : `${state.top} places`}`,
    all: () => 'Every pair was asked',
  };
  const moment = () => moments[state.done]();
  const level = (of) => (of && of.done ? 1 + (of.done === 'settled') : 0);

  function showSoFar() {
    const known = knownPercent(state);
    const decided = state.ranked > 0;
    const right = Math.round(100 * state.settled);
    byId('settled').textContent = decided
      ? `${known}% of the order is known: about ${right}% of all pairs are expected to stand in their right order.`
      : 'Nothing is known yet. Ranks appear after the first answer.';
    byId('meter').style.width = `${decided ? known : 0}%`;
    byId('bar').setAttribute('aria-valuenow', decided ? known : 0);
    byId('top').hidden = !state.done;
    byId('top').textContent = state.done ? `\u2713 ${moment()}.` : '';
    const hidden = state.blind && !revealed;
    byId('hidden-ranking').hidden = !(hidden && decided);
    byId('export').hidden = hidden;
    byId('open-result').disabled = !decided;
    byId('legend').hidden = hidden || !decided;
    byId('all').hidden = hidden || state.ranked <= 20;
    byId('all').textContent = all ? 'Show the first 20' : `Show all ${state.ranked.toLocaleString('en')}`;
    const fresh = state.items - state.ranked;
    byId('new').textContent = decided && fresh > 0 ? `${counted(fresh, 'item was', 'items were')} not compared yet.` : '';
    if (hidden || !decided) byId('ranking').replaceChildren();
    else if (!(all || state.blind)) showRanking(byId('ranking'), state.ranking);
    else if (places) showRanking(byId('ranking'), all ? places : places.slice(0, 20));
  }

  function show() {
    if (state.title) {
      byId('title').textContent = state.title;
      document.title = state.title;
    }
    byId('progress').textContent = `${counted(state.answers, 'answer', 'answers')} about ${counted(state.items, 'item', 'items')}. Which is better?`;
    const long = [showCard('left', state.left), showCard('right', state.right)];
    document.querySelector('.pair').classList.toggle('long', long.includes(true));
    showMore();
    byId('said').textContent = state.blind ? 'A, or B?' : `${state.left.name}, or ${state.right.name}?`;
    showSoFar();
    root.dataset.number = state.number;
    root.dataset.ready = 'yes';
  }

  function enable() {
    for (const button of document.querySelectorAll('#ask button:not(.more)')) button.disabled = busy || connection !== 'on';
    if (state && !state.undo) byId('undo').disabled = true;
  }

  function trouble(text) {
    byId('trouble').textContent = text;
    byId('trouble').hidden = !text;
  }

  const kept = 'Every answer that it took is kept.';
  function connected(how, text = '') {
    connection = how;
    root.dataset.connection = how;
    trouble(text);
    enable();
  }
  const ended = () => connected('ended', `This session has ended. ${kept} To go on, start \u201ccrucial prefer\u201d again and use the address it gives.`);
  function lost() {
    if (connection === 'ended') return;
    connected('offline', navigator.onLine
      ? `Offline: there is no connection to the program behind this page; trying again. ${kept} If it was stopped, start \u201ccrucial prefer\u201d again and use the address it gives.`
      : `Offline: this device has no network. The page goes on when it is back. ${kept}`);
  }

  async function call(route, body) {
    const options = { cache: 'no-store', credentials: 'omit', redirect: 'error' };
    if (body) {
      options.method = 'POST';
      options.headers = { 'Content-Type': 'application/json' };
      options.body = JSON.stringify(body);
    }
    const reply = await fetch(route, options);
    // Another session listens at the port: this one is over.
    if (reply.status === 403) return { ended: true };
    return reply.json();
  }

  async function refreshPlaces() {
    if (!(all || revealed)) return;
    const data = await call('ranking');
    if (!data.ranking || data.number !== state.number) return;
    places = data.ranking;
    showSoFar();
  }

  async function ask(route, body) {
    if (busy) return;
    busy = true;
    enable();
    const before = state;
    try {
      const data = await call(route, body);
      if (data.ended) ended();
      else {
        connected('on', data.error || '');
        if (data.left) state = data;
        if (state !== before) places = null; // (asked for again when the question is shown)
      }
    } catch {
      lost();
    }
    busy = false;
    enable();
    if (!state) return;
    if (state !== before) {
      // Who has scrolled through a long text starts at the top of the next pair.
      const read = Object.values(sides).some((card) => card.classList.contains('open'));
      show();
      if (read && byId('ask').getBoundingClientRect().top < 0) byId('ask').scrollIntoView();
    } else for (const card of Object.values(sides)) card.classList.remove('chosen');
    if (route === 'answer' && before && level(state) > level(before)) openResult(true);
    if (state !== before) refreshPlaces().catch(lost);
  }

  function answer(word) {
    if (!state || busy || connection !== 'on') return;
    if (sides[word]) sides[word].classList.add('chosen');
    ask('answer', { number: state.number, answer: word });
  }
  function undo() {
    if (state && connection === 'on' && state.undo) ask('undo', { number: state.number });
  }

  // News come as the reply to a request that the server keeps: an answer in another window, or the
  // end. Without a connection the state is asked for until it comes.
  const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });
  async function watch() {
    while (connection !== 'ended') {
      try {
        if (connection === 'offline') {
          await pause(1000);
          if (connection === 'offline') await ask('state');
          continue;
        }
        const asked = state ? state.number : 0;
        const news = await call(`wait/${asked}`);
        if (news.ended) ended();
        // (news about a question that was answered here meanwhile are old)
        else if (!busy && state && state.number === asked && news.number !== asked) await ask('state');
        if (news.later || news.error) await pause(3000);
      } catch {
        lost();
      }
    }
  }

  const result = () => resultOf(state, places || state.ranking);
  function openResult(done) {
    const hidden = state.blind && !revealed;
    byId('moment').textContent = done || state.done ? moment() : 'Your ranking so far';
    byId('reason').textContent = state.done ? reasons[state.done] : '';
    byId('card').replaceChildren(...(hidden ? [] : [resultCard(result())]));
    byId('names').hidden = !hidden;
    byId('picture').hidden = hidden;
    byId('copy').hidden = hidden;
    byId('copied').textContent = '';
    if (!byId('result').open) byId('result').showModal();
    byId('go-on').focus();
  }
  async function reveal() {
    revealed = true;
    await refreshPlaces().catch(lost);
    showSoFar();
  }

  for (const [side, card] of Object.entries(sides)) {
    card.querySelector('.pick').addEventListener('click', () => answer(side));
    card.querySelector('.more').addEventListener('click', () => toggleMore(card));
  }
  byId('tie').addEventListener('click', () => answer('tie'));
  byId('pass').addEventListener('click', () => answer('skip'));
  byId('undo').addEventListener('click', undo);
  byId('reveal').addEventListener('click', reveal);
  byId('all').addEventListener('click', () => {
    all = !all;
    if (all && !places) refreshPlaces().catch(lost);
    else showSoFar();
  });
  byId('open-result').addEventListener('click', () => openResult(false));
  byId('names').addEventListener('click', () => reveal().then(() => openResult(false)));
  byId('go-on').addEventListener('click', () => byId('result').close());
  byId('picture').addEventListener('click', () => saveResult(result()));
  byId('copy').addEventListener('click', () => navigator.clipboard.writeText(resultText(result())).then(
    () => { byId('copied').textContent = 'Copied.'; },
    () => { byId('copied').textContent = 'The browser does not allow copying here.'; },
  ));
  const keys = {
    ArrowLeft: () => answer('left'), ArrowRight: () => answer('right'),
    t: () => answer('tie'), s: () => answer('skip'), u: undo, Backspace: undo,
    m: () => {
      const open = !Object.values(sides).some((card) => card.classList.contains('open'));
      for (const card of Object.values(sides)) toggleMore(card, open);
    },
  };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || byId('result').open) return;
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  byId('theme').addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  });
  window.addEventListener('resize', () => { if (state) showMore(); });
  window.addEventListener('online', () => { if (connection === 'offline') ask('state'); });
  connected('on');
  ask('state').then(watch);
})();
