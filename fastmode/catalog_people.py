"""What the tables about people and errors must look like: assumption sets, field trials, quantisation."""

from fastmode.catalog_schema import ANY1, BASIS, ID, PRECISION, SHARE, SOURCED, TEXT, TEXT1, Join, Table, number, one_of

PEOPLE_TABLES = {
    # Assumptions taken together, one row a field; a field a set does not name stays as the task profile says.
    "assumption_sets": Table(
        {
            "set": ID,
            "field": TEXT1,
            "value": ANY1,
            "unit": TEXT,
            "basis": BASIS,
            "source_url": TEXT,
            "note": TEXT,
        },
        key=("set", "field"),
        rules=(SOURCED,),
    ),
    # Which figure of human_time a randomised trial is, and how it becomes a net productivity.
    "field_trials": Table(
        {
            "id": ID,
            "label": TEXT1,
            "who": TEXT1,
            "quantity": TEXT1,
            "converts": one_of("time_ratio time_percent output_percent"),
            "note": TEXT,
        },
        key=("id",),
        unique=("label",),
    ),
    # Share of successes lost to a number format of the weights.
    "quantisation": Table(
        {
            "precision": PRECISION,
            "loss": number(0, 1, required=True),
            "low": SHARE,
            "high": SHARE,
            "basis": BASIS,
            "source_url": TEXT,
            "note": TEXT,
        },
        key=("precision",),
        index="precision",
        ordered=(("low", "loss", "high"),),
        rules=(SOURCED,),
    ),
}
PEOPLE_JOINS = (
    Join("assumption_sets", "field", "assumptions", "name"),
    Join("field_trials", "quantity", "human_time", "quantity"),
)
