"""Where does every layer and head look? One image in one to four models, side by side, under one cursor."""

from vizkit.ui.views import View

VIEWS = (View("Cards", "Where every layer and head looks, model beside model.", "cards"),)
