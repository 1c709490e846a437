"""What agents look up in compiled pages: a shortlist first, then details whose every statement names its memories."""
