// One part of two images in full size and a bar between them: the range input has the keys, the touch and the name for screen readers.

const LEAST_PX = 360  // so that both titles fit
const TALLEST_PX = 500  // so that what is said of it is seen too

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('.swipe'), frame = root.querySelector('.frame'), bar = root.querySelector('input')
  const [own, beside] = root.querySelectorAll('.frame img'), titles = root.querySelectorAll('.titles span')
  for (const [image, source, title, place] of [[beside, data.left, data.titles[0], 0], [own, data.right, data.titles[1], 1]]) {
    if (image.src !== source) image.src = source
    image.alt = titles[place].textContent = title
  }
  const wide = Math.min(data.columns, TALLEST_PX * data.columns / data.rows)
  root.style.maxWidth = Math.max(wide, LEAST_PX) + 'px'
  const whole = root.querySelector('.whole'), box = whole.querySelector('b'), [x, y, w, h] = data.frame, [rows, columns] = data.size
  whole.querySelector('img').src = data.whole
  whole.hidden = w === 1 && h === 1
  Object.assign(box.style, { left: 100 * x + '%', top: 100 * y + '%', width: 100 * w + '%', height: 100 * h + '%' })
  const choose = (row, column) => setStateValue('at', [Math.min(Math.max(row, 0), rows - 1), Math.min(Math.max(column, 0), columns - 1)].map(Math.floor))
  whole.onpointerup = event => {
    const frame = whole.getBoundingClientRect()
    choose((event.clientY - frame.top) / frame.height * rows, (event.clientX - frame.left) / frame.width * columns)
  }
  whole.onkeydown = event => {                           // a step of half a part
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key]
    if (!step) return
    event.preventDefault()
    choose((y + h / 2 + step[0] * h / 2) * rows, (x + w / 2 + step[1] * w / 2) * columns)
  }
  const moved = () => { frame.style.setProperty('--bar', bar.value / 10 + '%') }
  bar.oninput = moved
  moved()
}
