export default function ({ data, parentElement, setTriggerValue }) {
  scrubber(parentElement.querySelector('section'), data, window, setTriggerValue)
}
