"""The words of the sample: invented names of people and places, and sentences for every kind of text.

Here belongs what is drawn from, and nothing about how it is put together.
"""

ID_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
RATINGS, RATING_WEIGHTS = (0, 2, 4, 6, 8, 10), (2, 26, 40, 25, 6, 1)
REVIEW_COUNTS, REVIEW_COUNT_WEIGHTS = (1, 2, 3, 4, 5, 6), (1, 2, 18, 58, 17, 4)

FIRST = ("Zor", "Quim", "Plo", "Brax", "Tul", "Niv", "Osk", "Yab", "Drel", "Vask", "Hjo", "Wemb", "Kri", "Flu")
SECOND = ("vel", "tas", "mir", "dunk", "lo", "pex", "rin", "gast", "bo", "zim", "nax", "thul")
THIRD = ("berg", "quist", "moor", "vane", "dottle", "wick", "snerf", "holm", "plume", "crag")

HOW = ("Adaptive", "Sparse", "Causal", "Robust", "Hierarchical", "Latent", "Calibrated", "Modular", "Streaming")
WHAT = ("Attention", "Diffusion", "Retrieval", "Pruning", "Distillation", "Alignment", "Planning", "Tokenization")
WITH = ("Imaginary Gradients", "Placeholder Memory", "Invented Priors", "Toy Experts", "Mock Rewards", "Paper Moons")
FOR = ("Language Models", "Graph Networks", "Robot Control", "Time Series", "Protein Design", "Vision Transformers")

ABSTRACT = (
    "Existing methods are slow when the number of {what} steps grows.",
    "We propose a {how} scheme that reuses {with_} across layers.",
    "The key idea is to treat {what} as a budget rather than as a constraint.",
    "A simple analysis shows why {how} updates remain stable during training.",
    "Experiments on three invented benchmarks show consistent gains over strong baselines.",
    "Ablations indicate that most of the benefit comes from {with_}.",
    "We discuss limitations and the cost of scaling {what} further.",
)
SUMMARY = (
    "The submission studies {what} and proposes a {how} variant.",
    "It evaluates the method on invented benchmarks and reports gains.",
    "The main claim is that {with_} explains the improvement.",
)
STRENGTHS = (
    "- The motivation for {what} is clear.",
    "- The {how} design is simple and easy to reproduce.",
    "- The ablation on {with_} is convincing.",
    "- The writing is good throughout.",
)
WEAKNESSES = (
    "- The comparison with other {how} methods is incomplete.",
    "- It is unclear how {with_} was chosen.",
    "- The gains on the second benchmark are within noise.",
    "- The cost of {what} is not reported.",
)

# What a title says that a paper is for, and the area that it is submitted to.
AREAS = dict(zip(FOR, ("language", "graphs", "robotics", "time series", "science", "vision"), strict=True))
AFFILIATIONS = (
    "Invented University of Zorvel",
    "Imaginary Institute of Plomir",
    "Made-up Labs",
    "Placeholder College",
)
QUESTIONS = "How would the method behave on a fourth invented benchmark?"
RESPONSE = "This is a synthetic response. We thank the reviewer, and have added the missing comparison."
RAISED = "This is a synthetic comment. The response answers my questions, and I have raised my rating."
REMARK = "This is a synthetic remark of somebody who passed by."
META_REVIEW = "This is a synthetic meta-review. The reviewers discussed the submission; I recommend to {verb} it."
WITHDRAWAL = "This is a synthetic withdrawal: the authors confirm it."
DESK_REJECTION = "This is a synthetic desk rejection: the submission is over the page limit."
ADDED_SENTENCE = "A note added after the reviews reports a fourth invented benchmark."
