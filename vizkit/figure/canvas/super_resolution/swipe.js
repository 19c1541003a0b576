// Two pictures and a bar between them: the range input has the keys, the touch and the name for screen readers.

const LEAST_PX = 360  // so that both titles fit
const TALLEST_PX = 500  // so that what is said of it is seen too

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector('.swipe'), frame = root.querySelector('.frame'), bar = root.querySelector('input')
  const [own, beside] = root.querySelectorAll('img'), titles = root.querySelectorAll('.titles span')
  for (const [image, source, title, place] of [[beside, data.left, data.titles[0], 0], [own, data.right, data.titles[1], 1]]) {
    if (image.src !== source) image.src = source
    image.alt = titles[place].textContent = title
  }
  const wide = Math.min(data.columns, TALLEST_PX * data.columns / data.rows)
  root.style.maxWidth = Math.max(wide, LEAST_PX) + 'px'
  const moved = () => { frame.style.setProperty('--bar', bar.value / 10 + '%') }
  bar.oninput = moved
  moved()
}
