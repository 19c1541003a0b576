"""Where does every layer and head look?"""
