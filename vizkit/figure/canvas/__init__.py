"""The canvases that views draw in the browser, and what they are sent: for the app and for pages of their own."""
