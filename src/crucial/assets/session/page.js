// The page: asks, sends the answer, shows the next question and the ranking.
'use strict';
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
    answers: 'Your answers put what is there above all other items, directly or through others.',
    model: 'By your answers this is so with at least 90%.',
    all: 'Some places are still open: answers to further questions, which repeat pairs, can settle them.',
  };
  const places_ = () => (state.top === 1 ? 'first place is' : `first ${state.top} places are`);
  const moment = () => (state.done === 'all' ? 'Every pair was asked' : `Your ${places_()} settled`);

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
    if (state && state.answers === 0) byId('undo').disabled = true;
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
    if (route === 'answer' && state.done && before && !before.done) openResult(true);
    if (state !== before) refreshPlaces().catch(lost);
  }

  function answer(word) {
    if (!state || busy || connection !== 'on') return;
    if (sides[word]) sides[word].classList.add('chosen');
    ask('answer', { number: state.number, answer: word });
  }
  function undo() {
    if (state && connection === 'on' && state.answers > 0) ask('undo', { number: state.number });
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
