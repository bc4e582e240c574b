// Markdown to elements, a safe part of it: headings, emphasis, code, lists, quotes, tables, rules.
// Markup in the text stays text. Links and pictures show their address and lead nowhere, so that a
// text can neither load anything nor take the reader away. Spans are bounded, so that no text takes
// long; one line break is a line break, as people write in forms.
'use strict';
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
