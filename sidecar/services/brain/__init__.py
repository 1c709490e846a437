"""Lookups by agents in compiled pages: a shortlist first, then details in which each statement names its memories."""
