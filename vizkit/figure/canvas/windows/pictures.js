// What the windows of one block look like, drawn once for a size and put together by windows.js: the grid with its lines,
// the rolled grid with its regions, and the two matrices of the chosen window. The two files are one module.

// Numbers of one block. A place is a cell of the rolled and padded grid; an id is a token, −1 for padding.
const blockOf = data => {
  const [rows, columns] = data.grid, [R, C] = data.size, [wr, wc] = data.window, [down, right] = data.shift
  const ids = new Int32Array(bytes(data.ids).buffer), regions = bytes(data.regions), colours = bytes(data.colours)
  const weights = new Uint16Array(bytes(data.weights).buffer)
  const n = wr * wc, across = C / wc, shifted = down > 0 || right > 0
  const members = w => Array.from({ length: n }, (_, k) =>
    (Math.floor(w / across) * wr + Math.floor(k / wc)) * C + (w % across) * wc + k % wc)
  const windowOf = place => Math.floor(Math.floor(place / C) / wr) * across + Math.floor(place % C / wc)
  const home = place => ids[place] >= 0 ? [Math.floor(ids[place] / columns), ids[place] % columns]
    : data.pad_first ? [(Math.floor(place / C) + down) % R, (place % C + right) % C] : [Math.floor(place / C), place % C]
  const colour = (level, alpha = 1) => `rgb(${colours.slice(3 * level, 3 * level + 3).join(' ')} / ${alpha})`
  const chosenWindow = windowOf(ids.indexOf(data.token)), inside = members(chosenWindow)
  const allowed = Uint8Array.from({ length: n * n }, (_, at) => regions[inside[Math.floor(at / n)]] === regions[inside[at % n]])
  const [height, width] = data.image_size, [x0, y0, x1, y1] = data.box
  const aspect = data.image ? (y1 - y0) * height / rows / ((x1 - x0) * width / columns) : 1   // height of a token by its width
  return {
    rows, columns, R, C, wr, wc, down, right, ids, regions, allowed, weights, n, across, shifted, members, windowOf, home,
    colour, inside, chosenWindow, aspect, level: at => levelOf(data.scale, weights[at] * data.unit),
  }
}

const layer = (width, height, draw) => {
  const made = new OffscreenCanvas(Math.max(1, Math.round(width)), Math.max(1, Math.round(height)))
  draw(made.getContext('2d'))
  return made
}
const hatch = (pen, x, y, width, height, ink, paper, gap) => {
  pen.save(); pen.beginPath(); pen.rect(x, y, width, height); pen.clip()
  if (paper) { pen.fillStyle = paper; pen.fillRect(x, y, width, height) }
  pen.strokeStyle = ink; pen.lineWidth = Math.max(1, gap / 5); pen.beginPath()
  for (let at = x - height - (x - height) % gap; at < x + width; at += gap) { pen.moveTo(at, y + height); pen.lineTo(at + height, y) }
  pen.stroke(); pen.restore()
}

const picturesOf = (block, data, image, width, ratio, style) => {
  const { rows, columns, R, C, wr, wc, down, right, ids, regions, allowed, weights, n, across, shifted, windowOf, home, colour, inside, level, aspect } = block
  const ink = style.getPropertyValue('--st-text-color') || '#222'
  const gap = 0.14 * Math.max(wr, wc), boxes = [C + (across - 1) * gap, (R + (R / wr - 1) * gap) * aspect]
  const height = Math.round(clamp(width * boxes[1] / boxes[0], 0.8 * width, 1.15 * width))
  const cw = Math.min((width - 4 * ratio) / boxes[0], (height - 4 * ratio) / boxes[1]), ch = cw * aspect
  const paper = style.getPropertyValue('--st-secondary-background-color') || '#eee'
  const pad = (pen, x, y, w, h) => hatch(pen, x, y, w, h, '#8f95ad', paper, 7 * ratio)
  const write = (pen, text, x, y, size, fill = ink, rim = null) => {
    pen.font = `600 ${size}px ${style.getPropertyValue('--st-font') || 'sans-serif'}`
    pen.textAlign = 'center'; pen.textBaseline = 'middle'; pen.fillStyle = fill; pen.lineJoin = 'round'
    if (rim) { pen.strokeStyle = rim; pen.lineWidth = size / 5; pen.strokeText(text, x, y) }
    pen.fillText(text, x, y)
  }
  const grid = layer(C * cw, R * ch, pen => {       // tokens where they are; padding only where it comes first
    if (data.pad_first) pad(pen, 0, 0, C * cw, R * ch)
    pen.clearRect(0, 0, columns * cw, rows * ch)
    if (data.image) {
      pen.imageSmoothingEnabled = data.image_size[1] > 128
      const [x0, y0, x1, y1] = data.box, [h, w] = [image.naturalHeight, image.naturalWidth]
      if (w) pen.drawImage(image, x0 * w, y0 * h, (x1 - x0) * w, (y1 - y0) * h, 0, 0, columns * cw, rows * ch)
    } else { pen.fillStyle = paper; pen.fillRect(0, 0, columns * cw, rows * ch) }
    if (cw >= 5 * ratio) {
      pen.strokeStyle = data.image ? 'rgb(255 255 255 / .28)' : '#8f95ad88'; pen.lineWidth = ratio * 0.6; pen.beginPath()
      for (let r = 0; r <= rows; r++) { pen.moveTo(0, r * ch); pen.lineTo(columns * cw, r * ch) }
      for (let c = 0; c <= columns; c++) { pen.moveTo(c * cw, 0); pen.lineTo(c * cw, rows * ch) }
      pen.stroke()
    }
  })
  const digits = layer(C * cw, R * ch, pen => { if (data.numbers) for (let id = 0; id < rows * columns; id++)
    write(pen, id + 1, (id % columns + 0.5) * cw, (Math.floor(id / columns) + 0.5) * ch, cw * 0.36) })
  const piece = new Int32Array(rows * columns)
  ids.forEach((id, place) => { if (id >= 0) piece[id] = 9 * windowOf(place) + regions[place] })
  const lines = layer(C * cw, R * ch, pen => {      // between tokens that may not meet
    const path = new Path2D()
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) {
      if (c + 1 < columns && piece[r * columns + c] !== piece[r * columns + c + 1]) { path.moveTo((c + 1) * cw, r * ch); path.lineTo((c + 1) * cw, (r + 1) * ch) }
      if (r + 1 < rows && piece[r * columns + c] !== piece[(r + 1) * columns + c]) { path.moveTo(c * cw, (r + 1) * ch); path.lineTo((c + 1) * cw, (r + 1) * ch) }
    }
    for (const [ink, line] of [['rgb(10 12 28 / .75)', 4], ['#fff', 2]]) { pen.strokeStyle = ink; pen.lineWidth = line * ratio; pen.stroke(path) }
  })
  const before = layer(C * cw, R * ch, pen => {     // where the windows of the block before ended
    if (!shifted) return
    const path = new Path2D()
    for (let r = wr; r < rows; r += wr) { path.moveTo(0, r * ch); path.lineTo(columns * cw, r * ch) }
    for (let c = wc; c < columns; c += wc) { path.moveTo(c * cw, 0); path.lineTo(c * cw, rows * ch) }
    pen.setLineDash([7 * ratio, 6 * ratio])
    for (const [ink, line] of [['rgb(10 12 28 / .75)', 4], ['#fbbf24', 2]]) { pen.strokeStyle = ink; pen.lineWidth = line * ratio; pen.stroke(path) }
  })
  const tinted = (pen, place, x, y, alpha) => {
    pen.globalAlpha = alpha; pen.fillStyle = data.region_colours[regions[place]]; pen.fillRect(x, y, cw + 0.5, ch + 0.5); pen.globalAlpha = 1
  }
  const edge = layer(C * cw, R * ch, pen => {       // what will go round the edge
    for (let place = 0; place < R * C; place++) {
      const [r, c] = home(place)
      if (ids[place] >= 0 && (r < down || c < right)) tinted(pen, place, c * cw, r * ch, 0.55)
    }
  })
  const strength = data.image ? 0.42 : 0.85
  const rolled = layer(C * cw, R * ch, pen => { for (let place = 0; place < R * C; place++) {
    const x = place % C * cw, y = Math.floor(place / C) * ch, [r, c] = home(place)
    if (ids[place] < 0) pad(pen, x, y, cw, ch)
    else pen.drawImage(grid, c * cw, r * ch, cw, ch, x, y, cw + 0.4, ch + 0.4)
  } })
  const round = layer(C * cw, R * ch, pen => { for (let place = 0; place < R * C; place++) {
    const [r, c] = home(place)
    if (ids[place] >= 0 && (r < down || c < right)) tinted(pen, place, place % C * cw, Math.floor(place / C) * ch, 0.55)
  } })
  const tint = layer(C * cw, R * ch, pen => { if (shifted) for (let place = 0; place < R * C; place++)
    tinted(pen, place, place % C * cw, Math.floor(place / C) * ch, strength * (data.image && !regions[place] ? 0.4 : ids[place] < 0 ? 0.6 : 1)) })
  const names = layer(C * cw, R * ch, pen => { if (data.numbers) ids.forEach((id, place) => id < 0 ||
    write(pen, id + 1, (place % C + 0.5) * cw, (Math.floor(place / C) + 0.5) * ch, cw * 0.36, '#fff', '#0b0d19')) })

  // The matrix of the chosen window: rows ask, columns are seen. Axes are the tokens themselves.
  const side = Math.min(width, height), axis = Math.max(side / (n + 2), 16 * ratio), cell = (side - axis - 2 * ratio) / n
  const left = (width - side) / 2, top = (height - side) / 2
  const forbidden = layer(n * cell, n * cell, pen => {
    hatch(pen, 0, 0, n * cell, n * cell, '#7b8199', '#232741', 6 * ratio)
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) if (allowed[i * n + j]) pen.clearRect(j * cell, i * cell, cell + 0.5, cell + 0.5)
  })
  const numbers = (pen, text) => { if (data.numbers && cell > 17 * ratio) for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) {
    write(pen, text(i * n + j), (j + 0.5) * cell, (i + 0.5) * cell, cell * 0.34, '#fff', '#10121f') } }
  const mask = layer(n * cell, n * cell, pen => {
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) if (allowed[i * n + j]) {
      pen.fillStyle = shifted ? data.region_colours[regions[inside[i]]] : '#9aa0b5'
      pen.fillRect(j * cell, i * cell, cell + 0.5, cell + 0.5)
    }
    pen.drawImage(forbidden, 0, 0)
    numbers(pen, at => allowed[at] ? '0' : '−100')
  })
  const heat = layer(n * cell, n * cell, pen => {
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) if (allowed[i * n + j]) {
      pen.fillStyle = colour(level(i * n + j)); pen.fillRect(j * cell, i * cell, cell + 0.5, cell + 0.5)
    }
    pen.drawImage(forbidden, 0, 0)
    numbers(pen, at => allowed[at] ? '1/' + Math.round(1 / (weights[at] * data.unit)) : '0')
  })
  return { ratio, width, height, cw, ch, gap, grid, lines, before, edge, digits, rolled, round, tint, names, mask, heat, axis, cell, left, top, pad, write }
}
