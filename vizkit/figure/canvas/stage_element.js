// The stage as an element of a page that a server draws: all of them turn together, with the one scrubber of the page.

const PARSED = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  let known = PARSED.get(parentElement)
  if (!known || known.text !== data.book) known = { text: data.book, book: JSON.parse(data.book) }
  if (known.book.field) known.book.field.value = data.value                                     // the text has none, see widgets/stage.py
  PARSED.set(parentElement, known)
  stage(parentElement.querySelector('section'), known.book, scripts, window, setTriggerValue)
}
